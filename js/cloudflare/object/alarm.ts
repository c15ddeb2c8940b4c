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
    if (typeof this.#at !== 'number') {
      const known = await this.#storage.getAlarm();
      // A concurrent call may have set it meanwhile.
      if (typeof this.#at !== 'number') this.#at = known;
    }
    if (this.#isMissing(at)) await this.#set(at);
  }

  /**
   * Sets the alarm as {@link wakeBy} does, in the same write as the other changes of this turn. If
   * it is unknown when the alarm fires, it fires at `at`, and its handlers then set it again.
   */
  wakeWithWrite(at: number): void {
    if (this.#isMissing(at)) void this.#set(at);
  }

  /** Records that the alarm has fired. */
  fired(): void {
    this.#at = null;
  }

  /** Whether no alarm fires at `at` or before. One that is overdue may be lost. */
  #isMissing(at: number): boolean {
    const known = this.#at ?? Number.POSITIVE_INFINITY;
    return known > at || known + MAX_OVERDUE_MS < Date.now();
  }

  #set(at: number): Promise<void> {
    this.#at = at;
    return setAlarm(this.#storage, at);
  }
}

/**
 * Sets the alarm of an object, in the future: while an alarm is handled, the platform ignores one
 * that is set to the same time.
 */
export function setAlarm(storage: DurableObjectStorage, at: number): Promise<void> {
  return storage.setAlarm(Math.max(at, Date.now() + 1));
}

/** An alarm that has not fired for this many milliseconds after its time may be lost. */
const MAX_OVERDUE_MS = 3_000;
