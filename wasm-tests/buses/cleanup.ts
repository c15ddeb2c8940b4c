/** What a test has opened, to be closed in the opposite order. */
export class Cleanup {
  readonly #open: Array<() => unknown> = [];

  /** Closes `it` when the test is over. */
  later<T>(it: T, close: (it: T) => unknown): T {
    this.#open.push(() => close(it));
    return it;
  }

  async run(): Promise<void> {
    for (let close = this.#open.pop(); close !== undefined; close = this.#open.pop()) await close();
  }
}
