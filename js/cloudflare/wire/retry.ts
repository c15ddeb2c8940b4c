import { ListenError } from '../../model/error.js';
import { areRepeatable } from '../../wasm/server/bindings.js';

/**
 * Runs `action`, which has to take a fresh stub, and again where its error says that this may help: at most
 * `attempts` times. An object that is overloaded is never asked again.
 */
export async function retrying<T>(attempts: number, action: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await action();
    } catch (error) {
      if (attempt >= attempts || !mayRetry(error)) throw error;
      await scheduler.wait(FIRST_WAIT_MS * 2 ** attempt * Math.random());
    }
  }
}

/** Returns how often to try to publish events, each as JSON text: once where a repetition could do harm. */
export function attemptsFor(events: string[]): number {
  return areRepeatable(events.join('\n')) ? MAX_ATTEMPTS : 1;
}

/** An error of a stub as ours, which says whether the bus is overloaded. */
export function unavailable(message: string, cause: unknown): ListenError {
  const code = isOverloaded(cause) ? 'bus-overloaded' : 'bus-unavailable';
  return new ListenError(code, message, { cause });
}

function mayRetry(error: unknown): boolean {
  return (error as StubError | undefined)?.retryable === true && !isOverloaded(error);
}

/** Whether the error says that the object has too much to do. */
export function isOverloaded(error: unknown): boolean {
  return (error as StubError | undefined)?.overloaded === true;
}

/** What Workers add to errors of Durable Objects. */
interface StubError {
  retryable?: boolean;
  overloaded?: boolean;
}

/** How often what may be repeated is tried. */
export const MAX_ATTEMPTS = 3;
const FIRST_WAIT_MS = 50;
