/**
 * Limits the writes of each request; undefined selects the defaults of the core. Tests replace
 * them.
 */
export const WRITE_BUDGET: Budget = { writes: undefined, endIntervalMs: undefined };

interface Budget {
  /** Writes to all streams that a request may make while it owns the socket. */
  writes: number | undefined;
  /** Milliseconds between two times that streams end, when all requests have spent their writes. */
  endIntervalMs: number | undefined;
}
