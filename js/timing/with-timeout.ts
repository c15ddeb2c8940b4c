import { deferred } from './deferred.js';

/** Waits at most `ms` milliseconds for `work`, then rejects with the error that `late` returns. */
export async function withTimeout<T>(
  ms: number,
  work: T | Promise<T>,
  late: () => Error,
): Promise<T> {
  const over = deferred<never>();
  const timer = setTimeout(() => over.reject(late()), ms);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
