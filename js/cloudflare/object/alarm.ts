/** Shares the single alarm of an object between all that have to be woken. */
export class AlarmScheduler {
  readonly #storage: DurableObjectStorage;
  /**
   * When the alarm fires, in milliseconds since 1970; null if it is not set, undefined if unknown.
   */
  #at: number | null | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Makes the alarm fire at `at` (milliseconds since 1970) or before. */
  async wakeBy(at: number): Promise<void> {
    const known = typeof this.#at === 'number' ? this.#at : await this.#storage.getAlarm();
    // A concurrent call may have set it meanwhile.
    if (typeof this.#at !== 'number') this.#at = known;
    if (this.#at === null || this.#at > at) await this.#set(at);
  }

  /**
   * Sets the alarm as {@link wakeBy} does, in the same write as the other changes of this turn. If
   * it is unknown when the alarm fires, it fires at `at`, and its handlers then set it again.
   */
  wakeWithWrite(at: number): void {
    if (typeof this.#at !== 'number' || this.#at > at) void this.#set(at);
  }

  /** Records that the alarm has fired. */
  fired(): void {
    this.#at = null;
  }

  #set(at: number): Promise<void> {
    this.#at = at;
    return this.#storage.setAlarm(at);
  }
}
