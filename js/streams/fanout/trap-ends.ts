import type { DeadlineTimer } from '../../timing/deadline-timer.js';
import type { FanoutStream } from './stream.js';

/** The pending ends of streams whose core has trapped. */
export class TrapEnds {
  readonly #timers = new Map<FanoutStream, DeadlineTimer>();

  /** The streams that have not ended yet. */
  streams(): Iterable<FanoutStream> {
    return this.#timers.keys();
  }

  /** Whether the end of this stream is pending. */
  has(stream: FanoutStream): boolean {
    return this.#timers.has(stream);
  }

  /** Schedules the end of a stream. */
  schedule(stream: FanoutStream, end: () => void): void {
    this.#timers.set(stream, stream.afterTrap(end));
  }

  /** Forgets a stream that ends. Returns whether its core had trapped. */
  take(stream: FanoutStream): boolean {
    this.#timers.get(stream)?.clear();
    return this.#timers.delete(stream);
  }
}
