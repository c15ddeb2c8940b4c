import { found, write } from './dom.js';

/**
 * Tells those who do not see the page what arrived: one sentence at most every few seconds, with
 * the latest news of each subscription.
 */
export class Announcer {
  readonly #region = found('announcement', HTMLElement);
  readonly #news = new Map<string, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Has something to say about `topic`; what was to be said about it and has not been is left out.
   */
  tell(topic: string, sentence: string): void {
    this.#news.set(topic, sentence);
    this.#timer ??= setTimeout(() => this.#speak(), INTERVAL_MS);
  }

  #speak(): void {
    this.#timer = undefined;
    write(this.#region, [...this.#news.values()].join(' '));
    this.#news.clear();
  }
}

const INTERVAL_MS = 3_000;
