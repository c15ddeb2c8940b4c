import { grantOf, type Interest, type TopicGrant } from '../../bus/wanted/interest.js';
import { ConcurrencyLimit } from '../../timing/concurrency-limit.js';

/**
 * What the streams of this isolate subscribe to. The bus object is asked for what none of them has
 * been granted yet.
 */
export class EdgeInterest implements Interest {
  readonly #ask: (topics: string[], caller?: string) => Promise<string[]>;
  /** The streams with each topic. */
  readonly #granted = new ConcurrencyLimit<string>();

  /** @param ask - resolves with those topics that the bus object refuses. */
  constructor(ask: (topics: string[], caller?: string) => Promise<string[]>) {
    this.#ask = ask;
  }

  async want(topics: readonly string[], caller?: string): Promise<TopicGrant> {
    const unknown = topics.filter((topic) => !this.#granted.has(topic));
    const refused = unknown.length > 0 ? await this.#ask(unknown, caller) : [];
    const isRefused = new Set(refused);
    const granted = topics.filter((topic) => !isRefused.has(topic));
    const places = granted.map((topic) => this.#granted.enter(topic));
    // The bus object does not say for which topics its hooks have failed.
    return grantOf(refused, places);
  }
}
