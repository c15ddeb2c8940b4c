/** Keys that are due a constant time after they are added; each operation takes constant time. */
export class DelayQueue<Key = string> {
  readonly #delayMs: number;
  /** When each key is due, the earliest first. */
  readonly #due = new Map<Key, number>();

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
    this.#due.delete(key);
    this.#due.set(key, now + this.#delayMs);
  }

  /** Removes a key; returns whether it was there. */
  delete(key: Key): boolean {
    return this.#due.delete(key);
  }

  /** Removes the keys that are due, and yields them. */
  *take(now: number): Iterable<Key> {
    for (const [key, due] of this.#due) {
      if (due > now) return;
      this.#due.delete(key);
      yield key;
    }
  }
}
