/**
 * Waits between attempts, in milliseconds: each is drawn between 0 and a ceiling that doubles, so
 * that clients which failed at the same time spread their attempts.
 */
export class Backoff {
  #ceiling = FIRST_MS;

  /** Returns the next wait. */
  next(): number {
    const wait = Math.random() * this.#ceiling;
    this.#ceiling = Math.min(this.#ceiling * 2, MAX_MS);
    return wait;
  }

  /** Begins again with the shortest wait. */
  reset(): void {
    this.#ceiling = FIRST_MS;
  }
}

/** The first and the last ceiling, in milliseconds, as in the core. */
const FIRST_MS = 500;
const MAX_MS = 30_000;
