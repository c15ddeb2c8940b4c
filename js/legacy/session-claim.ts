/** Which session a stream is attached for, and whose that is, as the edge found. */
export interface SessionClaim {
  /** The `Mcp-Session-Id`, which has no spaces. */
  id: string;
  /** Undefined: the session belongs to no principal. */
  principal?: string | undefined;
}

/** The claim as one text, which the core only carries: the id and, after a space, the principal. */
export function claimText({ id, principal }: SessionClaim): string {
  return principal === undefined ? id : `${id} ${principal}`;
}

/** Reads what {@link claimText} wrote. */
export function claimOf(text: string): SessionClaim {
  const space = text.indexOf(' ');
  return space < 0 ? { id: text } : { id: text.slice(0, space), principal: text.slice(space + 1) };
}
