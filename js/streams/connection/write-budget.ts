/** Bounds the writes of a request; undefined: the defaults of the core. Tests replace them. */
export const WRITE_BUDGET: Budget = { writes: undefined, shedMs: undefined };

interface Budget {
  /** Writes to streams, for all of which the request has the socket, after which it is spent. */
  writes: number | undefined;
  /** Milliseconds between two sheddings where all requests are spent. */
  shedMs: number | undefined;
}
