import { ListenError } from '../../model/error.js';
import { areRepeatable } from '../../wasm/server/bindings.js';

/**
 * Runs `action`, which must use a fresh stub, at most `attempts` times, as long as its error says
 * that a retry may help. An overloaded object is never called again. Attempts that are a function
 * are computed when the first one has failed.
 */
export async function retrying<T>(
  attempts: number | (() => number),
  action: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await action();
    } catch (error) {
      if (!mayRetry(error)) throw error;
      if (attempt >= (typeof attempts === 'number' ? attempts : attempts())) throw error;
      await scheduler.wait(FIRST_WAIT_MS * 2 ** attempt * Math.random());
    }
  }
}

/**
 * Returns the number of attempts to publish events, each as JSON text: 1 if a repetition could do
 * harm.
 */
export function attemptsFor(events: string[]): number {
  return areRepeatable(events.join('\n')) ? MAX_ATTEMPTS : 1;
}

/**
 * Converts an error of a stub to a `ListenError`, whose code says whether the bus is overloaded.
 */
export function unavailable(message: string, cause: unknown): ListenError {
  const code = isOverloaded(cause) ? 'bus-overloaded' : 'bus-unavailable';
  return new ListenError(code, message, { cause });
}

function mayRetry(error: unknown): boolean {
  return (error as StubError | undefined)?.retryable === true && !isOverloaded(error);
}

/**
 * Makes a call to another object that the core repeats if it fails. Returns the reply; undefined if
 * the call failed, because the object is overloaded if it `isBusy`.
 */
export async function outcomeOf(
  call: () => Promise<string>,
): Promise<{ reply: string | undefined; isBusy: boolean }> {
  try {
    return { reply: await call(), isBusy: false };
  } catch (error) {
    return { reply: undefined, isBusy: isOverloaded(error) };
  }
}

/** Whether an error says that the object is overloaded. */
function isOverloaded(error: unknown): boolean {
  return (error as StubError | undefined)?.overloaded === true;
}

/** The properties that Workers add to errors of Durable Objects. */
interface StubError {
  retryable?: boolean;
  overloaded?: boolean;
}

/** Maximum number of attempts of a call that may be repeated. */
export const MAX_ATTEMPTS = 3;
/** Milliseconds that double with each attempt; the wait is a random part of them. */
const FIRST_WAIT_MS = 50;
