import { DelayQueue } from './delay-queue.js';
import { MINUTE_MS } from './spans.js';

/** The place of a request in a {@link ConcurrencyLimit}. */
export interface Place {
  /** Frees the place; may be called twice. */
  readonly leave: () => void;
  /** Keeps the place until it is left: it does not expire. */
  readonly keep: () => void;
}

/**
 * Limits how many requests with the same key are handled at a time, in this process or isolate. The
 * place of a request expires, because Workers may stop without running `finally` when its client
 * disconnects.
 */
export class ConcurrencyLimit<Key> {
  readonly #taken = new Map<Key, number>();
  readonly #expiring: DelayQueue<Place>;

  /** @param maxMs - milliseconds after which a place expires. */
  constructor(maxMs = MINUTE_MS) {
    this.#expiring = new DelayQueue<Place>(maxMs);
  }

  /** Whether no place is taken. */
  get isEmpty(): boolean {
    this.#expire();
    return this.#taken.size === 0;
  }

  /** Takes one of the `max` places of this key; returns undefined if all are taken. */
  enter(key: Key, max = Number.POSITIVE_INFINITY): Place | undefined {
    this.#expire();
    if ((this.#taken.get(key) ?? 0) >= max) return undefined;
    let isTaken = true;
    const place: Place = {
      leave: () => {
        this.#expiring.delete(place);
        if (isTaken) this.#count(key, -1);
        isTaken = false;
      },
      keep: () => void this.#expiring.delete(place),
    };
    this.#expiring.add(place, Date.now());
    this.#count(key, 1);
    return place;
  }

  #expire(): void {
    for (const place of this.#expiring.take(Date.now())) place.leave();
  }

  #count(key: Key, change: number): void {
    const count = (this.#taken.get(key) ?? 0) + change;
    if (count > 0) this.#taken.set(key, count);
    else this.#taken.delete(key);
  }
}
