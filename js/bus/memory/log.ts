import type { BusLog } from '../../wasm/server/bindings.js';
import { type RetentionOptions, retentionOf, TRIM_SHARE } from '../retention.js';

/** A published event and its position in the log. */
export interface MemoryLogEntry {
  position: number;
  /** The event as JSON text. */
  event: string;
}

/** The latest events of a bus without a disk: a window by count and by age, trimmed in batches. */
export class MemoryLog implements BusLog {
  /** Identifies this log. */
  readonly epoch = crypto.randomUUID();
  readonly #window: Required<RetentionOptions>;
  readonly #events: { event: string; at: number }[] = [];
  #floor = 0;

  /** @throws ListenError `invalid-options`. */
  constructor(options: RetentionOptions) {
    this.#window = retentionOf(options);
  }

  /** The position of the last event; 0 if there was none. */
  get position(): number {
    return this.#floor + this.#events.length;
  }

  /** The position after which every event is held. */
  get floor(): number {
    return this.#floor;
  }

  /** Appends an event, and trims the window in batches. */
  append(event: string): void {
    const now = performance.now();
    this.#events.push({ event, at: now });
    const { logAgeMs, logEvents } = this.#window;
    const isLong = this.#events.length >= logEvents + Math.max(1, logEvents * TRIM_SHARE);
    const oldest = this.#events[0]?.at ?? now;
    if (isLong || now - oldest > logAgeMs * (1 + TRIM_SHARE)) this.#trim(now - logAgeMs);
  }

  /** Yields the events after `position`, which must not be below the floor. */
  *after(position: number): Iterator<MemoryLogEntry> {
    for (const [index, { event }] of this.#events.slice(position - this.#floor).entries()) {
      yield { position: position + index + 1, event };
    }
  }

  /** Yields the events at these positions, which are ascending. */
  *at(positions: Float64Array): Iterator<MemoryLogEntry> {
    for (const position of positions) {
      const logged = this.#events[position - this.#floor - 1];
      if (logged !== undefined) yield { position, event: logged.event };
    }
  }

  #trim(oldest: number): void {
    const young = this.#events.findIndex(({ at }) => at >= oldest);
    const dropped = Math.max(young, this.#events.length - this.#window.logEvents);
    this.#events.splice(0, dropped);
    this.#floor += dropped;
  }
}
