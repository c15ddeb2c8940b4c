import type { Fanout } from '../../wasm/server/bindings.js';

/** The streams that events are published to. */
interface EventStreams {
  readonly core: Fanout;
  readonly streams: number;
  write(batch: Uint8Array | undefined): void;
}

/**
 * Publishes events, at once or together with the other events of a turn of the event loop: then
 * each stream gets them in one chunk, which costs little more than that of one event.
 */
export class TurnEvents {
  /** Whether the events of a turn are published together. */
  areMerged = false;
  readonly #streams: EventStreams;
  readonly #onError: (error: Error) => void;
  /** The events that wait, each a line of JSON text. */
  #lines: string | undefined;
  /** When the first of them was published. */
  #published = 0;
  #isPublishing = false;

  constructor(streams: EventStreams, onError: (error: Error) => void) {
    this.#streams = streams;
    this.#onError = onError;
  }

  /**
   * Publishes events: if they are merged, before a promise resolves that is resolved after this.
   */
  add(events: string, published: number): void {
    if (!this.areMerged) {
      this.#publish(events, published);
      return;
    }
    const most = Math.min(MAX_CHARACTERS, MAX_SPREAD / this.#streams.streams);
    if ((this.#lines?.length ?? 0) + events.length > most) this.flush();
    if (this.#lines === undefined) {
      this.#lines = events;
      this.#published = published;
      queueMicrotask(() => this.flush());
    } else this.#lines += `\n${events}`;
  }

  /** Publishes the events that wait, unless earlier ones are being published. */
  flush(): void {
    const lines = this.#lines;
    if (lines === undefined || this.#isPublishing) return;
    this.#lines = undefined;
    this.#isPublishing = true;
    try {
      this.#publish(lines, this.#published);
    } catch (error) {
      this.#onError(error as Error);
    } finally {
      this.#isPublishing = false;
    }
  }

  #publish(events: string, published: number): void {
    this.#streams.write(this.#streams.core.publish(events, published, performance.now()));
  }
}

/** Characters of events that wait: bounds the chunk that each stream has to write for them. */
const MAX_CHARACTERS = 4_096;
/** These characters, times streams: bounds the memory that takes them if streams share no frame. */
const MAX_SPREAD = 2_000_000;
