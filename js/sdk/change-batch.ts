import type { ListenBus } from '../bus/bus.js';
import { eventText } from '../bus/event-text.js';
import type { ServerEvent } from '../model/event.js';
import { publishing, type Tracing } from '../observe/tracing.js';

/** Collects the changes of one server in one turn of the event loop, to publish them together. */
export class ChangeBatch {
  readonly #bus: ListenBus;
  readonly #tracing: Tracing | undefined;
  /** Pending events by their text: a topic that changes twice is published once. */
  readonly #pending = new Map<string, ServerEvent>();
  readonly #reported = new WeakSet<Error>();
  #published: Promise<void> | undefined;

  /** With a tracer, each publish is a span. */
  constructor(bus: ListenBus, tracing?: Tracing) {
    this.#bus = bus;
    this.#tracing = tracing;
  }

  /**
   * Publishes `event` together with the other changes of this turn. A failure goes to the `onError`
   * of the bus, whether it is awaited or not.
   */
  publish(event: ServerEvent): Promise<void> {
    const text = textOf(event);
    // Publish an invalid event alone, because it would make the publish of the others fail.
    if (text === undefined)
      return publishing(this.#tracing, event.kind, {}, () => this.#bus.publish(event));
    this.#pending.set(text, event);
    this.#published ??= this.#publishLater();
    return this.#published;
  }

  /** Returns whether the bus has already passed this error to its `onError`. */
  hasReported(error: Error): boolean {
    return this.#reported.has(error);
  }

  #publishLater(): Promise<void> {
    const published = Promise.resolve().then(() => {
      const events = [...this.#pending.values()];
      this.#pending.clear();
      this.#published = undefined;
      const kinds = new Set(events.map(({ kind }) => kind));
      return publishing(this.#tracing, [...kinds].join(), {}, () => this.#bus.publishAll(events));
    });
    published.catch((error: Error) => this.#reported.add(error));
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
