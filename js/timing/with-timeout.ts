import { deferred } from './deferred.js';

/**
 * Waits at most `ms` milliseconds for `work`, then rejects with the error that `timeoutError`
 * returns. If its timer fires late, because this process was stalled, it waits as long again, at
 * most `ms`: what has arrived meanwhile has not been read. Sets no timer for a value that is there.
 */
export async function withTimeout<T>(
  ms: number,
  work: T | Promise<T>,
  timeoutError: () => Error,
): Promise<T> {
  if (!isPending(work)) return work;
  const timeout = deferred<never>();
  const expire = (): void => timeout.reject(timeoutError());
  const due = performance.now() + ms;
  let timer = setTimeout(() => {
    const lateMs = performance.now() - due;
    if (lateMs > STALL_MS) timer = setTimeout(expire, Math.min(lateMs, ms));
    else expire();
  }, ms);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isPending<T>(work: T | PromiseLike<T>): work is PromiseLike<T> {
  return typeof (work as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/** Milliseconds by which a timer fires late only if the process was stalled. */
const STALL_MS = 100;
