/**
 * What one request may do for the streams of others. Runtimes bound the processor time of a request: one that exceeds it is
 * ended, and its stream with it. An object, so that tests can set it.
 */
export const WRITE_BUDGET = {
  /** Writes to streams, for all of which the request has the socket, after which it is spent. */
  writes: 100_000,
  /** Milliseconds between two sheddings where all requests are spent. */
  shedMs: 5_000,
  /** Each shedding ends one in so many streams, and one at least. */
  shedShare: 8,
};
