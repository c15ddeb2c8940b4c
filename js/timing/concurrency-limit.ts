import { DelayQueue } from './delay-queue.js';
import { MINUTE_MS } from './spans.js';

/** The place of a request in a {@link ConcurrencyLimit}. */
export interface Place {
  /** Frees the place; may be called twice. */
  readonly leave: () => void;
  /** Keeps the place until it is left: it does not expire, and is taken again if it has. */
  readonly keep: () => void;
}

/**
 * Limits how many requests with the same key are handled at a time, in this process or isolate. The
 * place of a request expires, because Workers may stop without running `finally` when its client
 * disconnects.
 */
export class ConcurrencyLimit<Key> {
  readonly #taken = new Map<Key, number>();
  readonly #expiring: DelayQueue<() => void>;
  readonly #onExpired: (key: Key) => void;

  /**
   * @param maxMs - milliseconds after which a place expires.
   * @param onExpired - called when a place of this key has expired.
   */
  constructor(maxMs = MINUTE_MS, onExpired: (key: Key) => void = () => {}) {
    this.#expiring = new DelayQueue(maxMs);
    this.#onExpired = onExpired;
  }

  /** Whether no place is taken. */
  get isEmpty(): boolean {
    this.#expire();
    return this.#taken.size === 0;
  }

  /** The keys of which places are taken. */
  keys(): Iterable<Key> {
    return this.#taken.keys();
  }

  /** Whether a place of this key is taken. */
  has(key: Key): boolean {
    this.#expire();
    return this.#taken.has(key);
  }

  /** Takes one of the `max` places of this key; returns undefined if all are taken. */
  enter(key: Key, max = Number.POSITIVE_INFINITY): Place | undefined {
    this.#expire();
    if ((this.#taken.get(key) ?? 0) >= max) return undefined;
    let [isTaken, isLeft] = [true, false];
    const take = (takes: boolean): void => {
      if (takes !== isTaken) this.#count(key, takes ? 1 : -1);
      isTaken = takes;
    };
    const expire = (): void => {
      take(false);
      this.#onExpired(key);
    };
    this.#expiring.add(expire, Date.now());
    this.#count(key, 1);
    return {
      leave: () => {
        this.#expiring.delete(expire);
        isLeft = true;
        take(false);
      },
      keep: () => {
        this.#expiring.delete(expire);
        take(!isLeft);
      },
    };
  }

  #expire(): void {
    for (const expire of this.#expiring.take(Date.now())) expire();
  }

  #count(key: Key, change: number): void {
    const count = (this.#taken.get(key) ?? 0) + change;
    if (count > 0) this.#taken.set(key, count);
    else this.#taken.delete(key);
  }
}
