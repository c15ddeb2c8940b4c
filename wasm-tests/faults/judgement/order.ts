/**
 * Checks the order of the cues of a stream: its topics are cued in the order of their changes.
 * A cue stands for a publish after that of the previous cue. A cue without such a publish is out of
 * order.
 */
export class Order {
  /** Cues out of order. */
  inversions = 0;
  #log: readonly string[] = [];
  #at = 0;

  /** Begins with nothing pending; `log` has the keys of the next publishes, in their order. */
  next(log: readonly string[]): void {
    this.#log = log;
    this.#at = 0;
  }

  /** Takes a cue of the stream. */
  receive(key: string): void {
    const place = this.#log.indexOf(key, this.#at);
    if (place < 0) this.inversions += 1;
    else this.#at = place + 1;
  }
}
