/** Keys that are due a constant time after they are added; each operation takes constant time. */
export class DelayQueue {
  readonly #delayMs: number;
  /** When each key is due, the earliest first. */
  readonly #due = new Map<string, number>();

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** When the first key is due; undefined without keys. */
  get next(): number | undefined {
    return this.#due.values().next().value;
  }

  /** Whether the key has been added and is not due at `now`. */
  isWaiting(key: string, now: number): boolean {
    return (this.#due.get(key) ?? now) > now;
  }

  /** Adds a key, or adds it again. */
  add(key: string, now: number): void {
    this.#due.delete(key);
    this.#due.set(key, now + this.#delayMs);
  }

  delete(key: string): void {
    this.#due.delete(key);
  }

  /** Removes the keys that are due, and yields them. */
  *take(now: number): Iterable<string> {
    for (const [key, due] of this.#due) {
      if (due > now) return;
      this.#due.delete(key);
      yield key;
    }
  }
}
