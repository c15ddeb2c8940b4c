/** The id of a new session. Where the handler behind keeps one of its own, it carries that one's id along. */
export function newSessionId(behind: string | null): string {
  const id = crypto.randomUUID();
  return behind === null ? id : `${id}.${btoa(behind).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** The id that the handler behind knows a session by; undefined where it keeps none. */
export function idBehind(session: string): string | undefined {
  const [, carried] = session.split('.');
  if (carried === undefined) return undefined;
  try {
    return atob(carried.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return undefined;
  }
}
