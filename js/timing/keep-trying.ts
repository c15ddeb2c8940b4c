import { type Deferred, deferred } from './deferred.js';

/**
 * Calls `work`, and again 100 to 1,000 milliseconds after each end, until `signal` aborts. `onEnd`
 * receives the error of each end; undefined: it resolved.
 */
export async function keepTrying(
  work: () => Promise<void>,
  signal: AbortSignal,
  onEnd: (cause: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    let cause: unknown;
    try {
      await work();
    } catch (error) {
      cause = error;
    }
    if (signal.aborted) return;
    onEnd(cause);
    await pause(MIN_DELAY_MS + Math.random() * (MAX_DELAY_MS - MIN_DELAY_MS), signal);
  }
}

/** Waits for `ms` milliseconds, or until `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const done: Deferred<void> = deferred();
  const end = (): void => done.resolve();
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end);
  await done.promise;
  signal.removeEventListener('abort', end);
  clearTimeout(timer);
}

/** Bounds of the random delay between two attempts, in milliseconds. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 1_000;
