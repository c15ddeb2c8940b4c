/**
 * Remembers which messages were handled, so that a repeated delivery is not handled again. A key is
 * a short text that identifies a message of a subscription. A store that forgets a key, or that
 * lacks what another process has handled, lets a repeated delivery through.
 */
export interface SeenEvents {
  /** Returns whether the message was handled. */
  has(key: string): boolean | Promise<boolean>;
  /** Records that the message was handled. The receiver waits for a returned promise. */
  add(key: string): unknown;
}

/** The most recent messages, in memory. */
export class RecentMessageIds implements SeenEvents {
  readonly #max: number;
  readonly #keys = new Set<string>();

  /** @param max - maximum number of messages. */
  constructor(max: number) {
    this.#max = max;
  }

  has(key: string): boolean {
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }

  add(key: string): void {
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > this.#max && oldest !== undefined) this.#keys.delete(oldest);
  }
}
