/** What the core is told to bound the writes of a request by; undefined: its own defaults, which tests replace. */
export const WRITE_BUDGET: Budget = { writes: undefined, shedMs: undefined };

interface Budget {
  /** Writes to streams, for all of which the request has the socket, after which it is spent. */
  writes: number | undefined;
  /** Milliseconds between two sheddings where all requests are spent. */
  shedMs: number | undefined;
}
