/** A cache whose values expire; drops the oldest value when it is full. */
export class TtlCache<Value> {
  readonly #known = new Map<string, { value: Value; until: number }>();
  readonly #ms: number;
  readonly #most: number;

  /**
   * @param ms - milliseconds for which a value is valid.
   * @param most - maximum number of values.
   */
  constructor(ms: number, most: number) {
    this.#ms = ms;
    this.#most = most;
  }

  /** Returns the valid value of a key. */
  get(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.until > Date.now() ? known.value : undefined;
  }

  /** Returns the last value of a key that is still kept, even if it has expired. */
  last(key: string): Value | undefined {
    return this.#known.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.#known.delete(key);
    this.#known.set(key, { value, until: Date.now() + this.#ms });
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest);
  }

  delete(key: string): void {
    this.#known.delete(key);
  }
}
