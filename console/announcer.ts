import { byId, setText } from './dom.js';

/**
 * Announces to screen readers what arrived: at once, and then at most once every three seconds,
 * with the latest sentence for each topic.
 */
export class Announcer {
  readonly #region = byId('announcement', HTMLElement);
  readonly #pending = new Map<string, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Announces a sentence about `topic`; replaces a pending one. */
  announce(topic: string, sentence: string): void {
    this.#pending.set(topic, sentence);
    if (this.#timer === undefined) this.#flush();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#pending.size === 0) return;
    setText(this.#region, [...this.#pending.values()].join(' '));
    this.#pending.clear();
    this.#timer = setTimeout(() => this.#flush(), INTERVAL_MS);
  }
}

const INTERVAL_MS = 3_000;
