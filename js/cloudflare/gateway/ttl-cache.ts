/** A cache whose values expire; drops the oldest value when it is full. */
export class TtlCache<Value> {
  readonly #known = new Map<string, { value: Value; expiresAt: number }>();
  readonly #ms: number;
  readonly #max: number;

  /**
   * @param ms - milliseconds for which a value is valid.
   * @param max - maximum number of values.
   */
  constructor(ms: number, max: number) {
    this.#ms = ms;
    this.#max = max;
  }

  /** Returns the valid value of a key. */
  get(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.expiresAt > Date.now() ? known.value : undefined;
  }

  /** Returns the last value of a key that is still kept, even if it has expired. */
  last(key: string): Value | undefined {
    return this.#known.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.#known.delete(key);
    this.#known.set(key, { value, expiresAt: Date.now() + this.#ms });
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#max && oldest !== undefined) this.#known.delete(oldest);
  }

  delete(key: string): void {
    this.#known.delete(key);
  }
}
