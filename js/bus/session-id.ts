/** Returns the id of a new session: 122 random bits, which say nothing about the session. */
export function newSessionId(): string {
  return crypto.randomUUID();
}
