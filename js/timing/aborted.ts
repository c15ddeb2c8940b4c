import { deferred } from './deferred.js';

/** Resolves when `signal` aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Runs `work` until it ends or one of the signals aborts, and rejects with the reason of that
 * signal then. `stopped` aborts at the same time. Nothing is left at a signal that outlives the
 * work, as a race would leave it at a promise.
 */
export async function unlessAborted<T>(
  signals: readonly AbortSignal[],
  work: (stopped: AbortSignal) => Promise<T>,
): Promise<T> {
  for (const signal of signals) signal.throwIfAborted();
  const stopped = new AbortController();
  const aborted = deferred<never>();
  const stop = ({ target }: Event): void => {
    const { reason } = target as AbortSignal;
    stopped.abort(reason);
    aborted.reject(reason);
  };
  for (const signal of signals) signal.addEventListener('abort', stop);
  try {
    return await Promise.race([aborted.promise, work(stopped.signal)]);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}
