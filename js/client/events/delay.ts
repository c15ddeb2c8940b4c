import { deferred } from '../../timing/deferred.js';
import { now, WakeTimer } from '../clock.js';

/** Waits for `ms` milliseconds. Rejects with the abort reason of `signal`. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  const over = deferred();
  const timer = new WakeTimer(over.resolve);
  timer.set(now() + ms);
  try {
    await within(0, over.promise, signal);
  } finally {
    timer.set(undefined);
  }
}

/**
 * Waits for `work` for at most `ms` milliseconds, then rejects with the error that `late` returns;
 * 0 disables this limit. Rejects with the abort reason of `signal`.
 */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  signal: AbortSignal,
  late: () => Error = () => new Error(),
): Promise<T> {
  const over = deferred<never>();
  const timer = new WakeTimer(() => over.reject(late()));
  const abort = () => over.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  if (ms > 0) timer.set(now() + ms);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    timer.set(undefined);
    signal.removeEventListener('abort', abort);
  }
}

/** The longest wait that a server may ask for, in milliseconds: an hour. */
export const MAX_WAIT_MS = 3_600_000;
