import { ListenError } from '../model/error.js';

/** How much of what was published a bus keeps, for streams that come back. Whichever bound is reached first counts. */
export interface RetentionOptions {
  /**
   * Number of events to keep, at least. 0 is `invalid-options`.
   *
   * @default 10_000
   */
  logEvents?: number;
  /**
   * Milliseconds for which an event is kept, at least, while there are no more than `logEvents`. 0
   * is `invalid-options`.
   *
   * @default 600_000
   */
  logAgeMs?: number;
}

/**
 * The window that `options` describe.
 *
 * @throws ListenError `invalid-options`.
 */
export function retentionOf({
  logEvents = 10_000,
  logAgeMs = 600_000,
}: RetentionOptions): Required<RetentionOptions> {
  if (!Number.isSafeInteger(logEvents) || logEvents < 1) {
    throw new ListenError('invalid-options', 'logEvents is not a whole number from 1');
  }
  if (!(logAgeMs > 0)) throw new ListenError('invalid-options', 'logAgeMs is not a number above 0');
  return { logEvents, logAgeMs };
}

/** Trimming in batches of this share of the window keeps a publish cheap. */
export const TRIM_SHARE = 0.1;
