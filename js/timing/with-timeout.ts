import { deferred } from './deferred.js';

/** Waits for `work`, for at most `ms` milliseconds; then it rejects with what `late` makes. */
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
