/**
 * Judges the order in which one stream cues: that in which its topics first became pending. A cue
 * stands for a publish after the one that the cue before it stood for; where the log holds none,
 * the cue came out of order.
 */
export class Order {
  /** Cues that came out of order. */
  inversions = 0;
  #log: readonly string[] = [];
  #at = 0;

  /** Nothing is pending: what comes next is of these keys, which are published in this order. */
  next(log: readonly string[]): void {
    this.#log = log;
    this.#at = 0;
  }

  /** The stream has cued this. */
  heard(key: string): void {
    const place = this.#log.indexOf(key, this.#at);
    if (place < 0) this.inversions += 1;
    else this.#at = place + 1;
  }
}
