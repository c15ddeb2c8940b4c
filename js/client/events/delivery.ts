import { ListenError } from '../../model/error.js';
import { occurrenceOf } from '../../model/events/occurrence.js';
import { Backoff } from '../backoff.js';
import { runCallback } from '../callback.js';
import { delay } from './delay.js';
import type { WatchEventsOptions } from './options.js';

/** Passes events and gaps to the handlers of a watch, and keeps its cursor. */
export class Delivery {
  readonly #options: WatchEventsOptions;
  readonly #signal: AbortSignal;
  #cursor: string | null | undefined;

  /** @param signal - ends the retries of a handler that fails. */
  constructor(options: WatchEventsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The cursor: everything before it was handled. Null before there is one. */
  get cursor(): string | null {
    return this.#cursor ?? null;
  }

  /**
   * Loads the cursor from the store, once.
   *
   * @throws ListenError `handler-failed`.
   */
  async load(): Promise<void> {
    if (this.#cursor !== undefined) return;
    try {
      this.#cursor = (await this.#options.cursor?.load()) ?? null;
    } catch (cause) {
      throw new ListenError('handler-failed', 'the cursor could not be loaded', { cause });
    }
  }

  /** Passes on an event, and returns its cursor. A malformed event is reported and passed over. */
  async event(value: unknown): Promise<string | null> {
    const event = occurrenceOf(value);
    if (event === undefined) {
      this.report(new ListenError('malformed-event', 'the server sent a malformed event'));
      return null;
    }
    await this.#call('an event', () => this.#options.onEvent(event));
    return event.cursor;
  }

  /** Passes on a gap. */
  async gap(cursor: string | null): Promise<void> {
    await this.#call('a gap', () => this.#options.onGap({ cursor }));
  }

  /** Moves the cursor, and saves it. Does nothing without a cursor, or with the present one. */
  async reached(cursor: unknown): Promise<void> {
    if (typeof cursor !== 'string' || cursor === this.#cursor) return;
    this.#cursor = cursor;
    try {
      await this.#options.cursor?.save(cursor);
    } catch (cause) {
      this.report(new ListenError('handler-failed', 'the cursor could not be saved', { cause }));
    }
  }

  /** Reports an error. An exception of `onError` does not end the watch: the host reports it. */
  report(error: ListenError): void {
    runCallback(() => this.#options.onError?.(error));
  }

  /** Calls a handler until it succeeds. Rejects with the abort reason of the signal. */
  async #call(what: string, handler: () => unknown): Promise<void> {
    const backoff = new Backoff();
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        await handler();
        return;
      } catch (cause) {
        this.report(new ListenError('handler-failed', `the handler of ${what} failed`, { cause }));
      }
      await delay(backoff.next(), this.#signal);
    }
  }
}
