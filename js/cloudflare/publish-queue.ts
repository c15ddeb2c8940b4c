import { type Deferred, deferred } from '../deferred.js';
import { report } from '../report.js';

/**
 * Publishes on their way to the disk: what comes while it is busy goes there together, in one transaction. So a burst
 * costs few writes, and a single publish waits for nobody.
 */
export class PublishQueue {
  readonly #storage: DurableObjectStorage;
  readonly #publish: (publishes: string[][]) => number[];
  #waiting: Waiting[] = [];
  #isBusy = false;

  /** @param publish - logs and sends publishes of several events each; answers with the last position of each. */
  constructor(storage: DurableObjectStorage, publish: (publishes: string[][]) => number[]) {
    this.#storage = storage;
    this.#publish = publish;
  }

  /** Publishes these events; resolves with the position of the last one. */
  add(events: string[]): Promise<number> {
    const position = deferred<number>();
    this.#waiting.push({ events, position });
    if (!this.#isBusy) this.#drain().catch(report);
    return position.promise;
  }

  async #drain(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#waiting.length > 0) {
        this.#take(this.#waiting.splice(0));
        await this.#storage.sync();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  #take(waiting: Waiting[]): void {
    try {
      const positions = this.#publish(waiting.map(({ events }) => events));
      waiting.forEach(({ position }, place) => {
        position.resolve(positions[place] ?? 0);
      });
    } catch (error) {
      for (const { position } of waiting) position.reject(error as Error);
    }
  }
}

interface Waiting {
  events: string[];
  position: Deferred<number>;
}
