/** The one alarm of an object, for whoever wants to be woken. */
export class AlarmScheduler {
  readonly #storage: DurableObjectStorage;
  /** When it rings; undefined: that is not known. */
  #at: number | null | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Rings at `at` (as `Date.now()` tells time) or before. */
  async wakeBy(at: number): Promise<void> {
    const known = typeof this.#at === 'number' ? this.#at : await this.#storage.getAlarm();
    // Somebody may have set it meanwhile.
    if (typeof this.#at !== 'number') this.#at = known;
    if (this.#at === null || this.#at > at) await this.#set(at);
  }

  /**
   * As {@link wakeBy}, and what else is written now is written with it. Where nobody knows when it would ring, it
   * rings at `at`: whoever is woken says anew when it wants to be.
   */
  wakeWithThis(at: number): void {
    if (typeof this.#at !== 'number' || this.#at > at) void this.#set(at);
  }

  /** It has rung. */
  fired(): void {
    this.#at = null;
  }

  #set(at: number): Promise<void> {
    this.#at = at;
    return this.#storage.setAlarm(at);
  }
}
