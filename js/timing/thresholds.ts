import { type Deferred, deferred } from './deferred.js';

/** Lets callers wait until a number that grows, such as a position in a log, is large enough. */
export class Thresholds {
  readonly #current: () => number;
  readonly #waiting = new Map<Deferred<void>, number>();

  /** @param current - returns the number. */
  constructor(current: () => number) {
    this.#current = current;
  }

  /** Resolves once the number is at least `threshold`. */
  async reached(threshold: number): Promise<void> {
    const wait = deferred();
    this.#waiting.set(wait, threshold);
    this.check();
    await wait.promise;
  }

  /** Resolves the waits whose threshold is reached. Call it when the number has changed. */
  check(): void {
    for (const [wait, threshold] of this.#waiting) {
      if (threshold > this.#current()) continue;
      this.#waiting.delete(wait);
      wait.resolve();
    }
  }
}
