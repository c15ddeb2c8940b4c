/** One published event with its place in the log. */
export interface LoggedEvent {
  position: number;
  /** The event as JSON text. */
  event: string;
}

/** The last events of a bus that has no disk. */
export class RecentEvents {
  readonly #window: number;
  readonly #events: string[] = [];
  #last = 0;

  /** @param window - how many events are kept. */
  constructor(window: number) {
    this.#window = window;
  }

  /** Keeps the event in place of the oldest one. */
  append(position: number, event: string): void {
    this.#events[position % this.#window] = event;
    this.#last = position;
  }

  /** The events beyond `position`, which must lie within the window. */
  *after(position: number): Iterable<LoggedEvent> {
    for (let next = position + 1; next <= this.#last; next += 1) {
      yield { position: next, event: this.#events[next % this.#window] ?? '' };
    }
  }
}
