import type { Interest, TopicGrant } from '../../bus/wanted/interest.js';

/**
 * What the streams of this isolate subscribe to. The bus object is asked for what none of them has
 * been granted yet.
 */
export class EdgeInterest implements Interest {
  readonly #ask: (topics: string[], caller?: string) => Promise<string[]>;
  /** The number of open streams with each topic. */
  readonly #granted = new Map<string, number>();

  /** @param ask - resolves with those topics that the bus object refuses. */
  constructor(ask: (topics: string[], caller?: string) => Promise<string[]>) {
    this.#ask = ask;
  }

  async want(topics: readonly string[], caller?: string): Promise<TopicGrant> {
    const unknown = topics.filter((topic) => !this.#granted.has(topic));
    const refused = unknown.length > 0 ? await this.#ask(unknown, caller) : [];
    const isRefused = new Set(refused);
    let granted = topics.filter((topic) => !isRefused.has(topic));
    for (const topic of granted) this.#granted.set(topic, (this.#granted.get(topic) ?? 0) + 1);
    const release = (): void => {
      for (const topic of granted) this.#drop(topic);
      granted = [];
    };
    // The bus object does not say for which topics its hooks have failed.
    return { refused, failed: [], release };
  }

  #drop(topic: string): void {
    const count = (this.#granted.get(topic) ?? 0) - 1;
    if (count > 0) this.#granted.set(topic, count);
    else this.#granted.delete(topic);
  }
}
