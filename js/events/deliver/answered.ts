import { ListenError } from '../../model/error.js';
import { withTimeout } from '../../timing/with-timeout.js';

/**
 * Waits for the response of the bus to a call.
 *
 * @throws ListenError `bus-unavailable` if there is none within five seconds.
 */
export function answered<T>(call: Promise<T>): Promise<T> {
  return withTimeout(ANSWER_MS, call, late);
}

function late(): ListenError {
  return new ListenError('bus-unavailable', 'the bus did not answer in time');
}

/** A call of the bus that hangs must delay neither messages nor callers for longer. */
const ANSWER_MS = 5_000;
