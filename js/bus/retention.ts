import { ListenError } from '../model/error.js';

/**
 * How many events a bus keeps for streams that reconnect. The bound that is reached first applies.
 */
export interface RetentionOptions {
  /**
   * Minimum number of events to keep. 0 is `invalid-options`.
   *
   * @default 10_000
   */
  logEvents?: number;
  /**
   * Minimum number of milliseconds for which an event is kept while there are at most `logEvents`
   * events. 0 is `invalid-options`.
   *
   * @default 600_000
   */
  logAgeMs?: number;
}

/**
 * Returns the retention window that the options describe.
 *
 * @throws ListenError `invalid-options`.
 */
export function retentionOf({
  logEvents = 10_000,
  logAgeMs = 600_000,
}: RetentionOptions): Required<RetentionOptions> {
  if (!Number.isSafeInteger(logEvents) || logEvents < 1) {
    throw new ListenError('invalid-options', 'logEvents must be a whole number of at least 1');
  }
  if (!(logAgeMs > 0))
    throw new ListenError('invalid-options', 'logAgeMs must be a number above 0');
  return { logEvents, logAgeMs };
}

/** Share of the window that one publish trims at most, so that it stays cheap. */
export const TRIM_SHARE = 0.1;
