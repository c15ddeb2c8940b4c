/** Handles items one after the other, in the order in which they were added. */
export class OrderedQueue<Item> {
  readonly #handle: (item: Item) => void;
  readonly #items: Item[] = [];
  #isHandling = false;

  constructor(handle: (item: Item) => void) {
    this.#handle = handle;
  }

  /**
   * Handles an item before it returns; one that is added while another is handled comes after that
   * one.
   */
  add(item: Item): void {
    this.#items.push(item);
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      for (let next = this.#items.shift(); next !== undefined; next = this.#items.shift())
        this.#handle(next);
    } finally {
      this.#isHandling = false;
    }
  }
}
