/** Keys that are due a constant time after they are added; each operation takes constant time. */
export class DelayQueue<Key = string> {
  readonly #delayMs: number;
  /** When each key is due, the earliest first. */
  readonly #due = new Map<Key, number>();
  /**
   * No key is due before this time. A map is slow to find its first key after many were removed.
   */
  #earliest = Number.POSITIVE_INFINITY;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** When the first key is due; undefined without keys. */
  get next(): number | undefined {
    return this.#due.values().next().value;
  }

  /** The number of keys. */
  get size(): number {
    return this.#due.size;
  }

  /** Whether the key has been added and is not due at `now`. */
  isWaiting(key: Key, now: number): boolean {
    return (this.#due.get(key) ?? now) > now;
  }

  /** Adds a key, or adds it again. */
  add(key: Key, now: number): void {
    const due = now + this.#delayMs;
    this.#due.delete(key);
    this.#earliest = this.#due.size === 0 ? due : Math.min(this.#earliest, due);
    this.#due.set(key, due);
  }

  /** Removes a key; returns whether it was there. */
  delete(key: Key): boolean {
    return this.#due.delete(key);
  }

  /** Removes the keys that are due, and yields them. */
  take(now: number): Iterable<Key> {
    return now < this.#earliest ? [] : this.#taken(now);
  }

  *#taken(now: number): Iterable<Key> {
    for (const [key, due] of this.#due) {
      this.#earliest = Math.min(due, now + this.#delayMs);
      if (due > now) return;
      this.#due.delete(key);
      yield key;
    }
    this.#earliest = Number.POSITIVE_INFINITY;
  }
}
