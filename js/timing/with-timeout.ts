import { deferred } from './deferred.js';

/**
 * Waits at most `ms` milliseconds for `work`, then rejects with the error that `timeoutError`
 * returns.
 */
export async function withTimeout<T>(
  ms: number,
  work: T | Promise<T>,
  timeoutError: () => Error,
): Promise<T> {
  const timeout = deferred<never>();
  const timer = setTimeout(() => timeout.reject(timeoutError()), ms);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
