import type { ListenBus } from '../bus/bus.js';
import { eventText } from '../bus/event-text.js';
import type { ServerEvent } from '../model/event.js';
import { publishing, type Tracing } from '../observe/tracing.js';

/** What one server changed in this turn of the event loop, to be published together. */
export class ChangeBatch {
  readonly #bus: ListenBus;
  readonly #tracing: Tracing | undefined;
  /** By text: a subject that changes twice is published once. */
  readonly #waiting = new Map<string, ServerEvent>();
  readonly #told = new WeakSet<Error>();
  #published: Promise<void> | undefined;

  /** With a tracer, each publish is a span. */
  constructor(bus: ListenBus, tracing?: Tracing) {
    this.#bus = bus;
    this.#tracing = tracing;
  }

  /**
   * Publishes `event` with what else changes now; awaited or not, a failure is told to the bus's
   * `onError`.
   */
  publish(event: ServerEvent): Promise<void> {
    const text = textOf(event);
    // Alone: together, what is no event would keep the others back.
    if (text === undefined)
      return publishing(this.#tracing, event.kind, {}, () => this.#bus.publish(event));
    this.#waiting.set(text, event);
    this.#published ??= this.#soon();
    return this.#published;
  }

  /** Whether the bus has told its `onError` of this. */
  hasTold(error: Error): boolean {
    return this.#told.has(error);
  }

  #soon(): Promise<void> {
    const published = Promise.resolve().then(() => {
      const events = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#published = undefined;
      const kinds = new Set(events.map(({ kind }) => kind));
      return publishing(this.#tracing, [...kinds].join(), {}, () => this.#bus.publishAll(events));
    });
    published.catch((error: Error) => this.#told.add(error));
    return published;
  }
}

function textOf(event: ServerEvent): string | undefined {
  try {
    return eventText(event);
  } catch {
    return undefined;
  }
}
