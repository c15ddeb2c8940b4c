import { ListenError } from '../../model/error.js';
import { withTimeout } from '../../timing/with-timeout.js';

/**
 * Waits for the reply of the bus to a call.
 *
 * @throws ListenError `bus-unavailable` if there is none within five seconds.
 */
export function busReply<T>(call: Promise<T>): Promise<T> {
  return withTimeout(REPLY_MS, call, late);
}

function late(): ListenError {
  return new ListenError('bus-unavailable', 'the bus did not reply in time');
}

/** A call of the bus that hangs must delay neither messages nor callers for longer. */
const REPLY_MS = 5_000;
