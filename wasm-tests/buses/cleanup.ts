/** Closes what tests have opened, in the opposite order. */
export class Cleanup {
  readonly #open: Array<() => unknown> = [];

  /** Closes `it` at the next {@link run}; returns it. */
  later<T>(it: T, close: (it: T) => unknown): T {
    this.#open.push(() => close(it));
    return it;
  }

  async run(): Promise<void> {
    for (let close = this.#open.pop(); close !== undefined; close = this.#open.pop()) await close();
  }
}
