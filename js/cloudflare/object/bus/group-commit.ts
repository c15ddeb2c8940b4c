import type { EventReceipt } from '../../../bus/events.js';
import { report } from '../../../observe/on-error.js';
import { type Deferred, deferred } from '../../../timing/deferred.js';
import type { IdempotencyKey, PublishedAt } from '../../wire/publish.js';

/** Events that are published together. */
export interface Publish {
  /** The events, each as JSON text. */
  events: string[];
  /** Identifies the publish if it is repeated. */
  once?: IdempotencyKey | undefined;
  /** Called with the receipts of the occurrences of MCP Events among the events. */
  appended?: (receipts: EventReceipt[]) => void;
}

/**
 * Groups publishes: those that arrive while the disk is busy are written together, in one
 * transaction. A burst costs few writes, and a single publish does not wait.
 */
export class GroupCommit {
  readonly #storage: DurableObjectStorage;
  readonly #publish: (publishes: Publish[]) => (PublishedAt | Error)[];
  #waiting: Waiting[] = [];
  #isBusy = false;

  /**
   * @param publish - logs and sends publishes of several events each; returns the last position of
   *   each, or the error of one that fails.
   */
  constructor(
    storage: DurableObjectStorage,
    publish: (publishes: Publish[]) => (PublishedAt | Error)[],
  ) {
    this.#storage = storage;
    this.#publish = publish;
  }

  /** Publishes events; resolves with the position of the last one. */
  add(publish: Publish): Promise<PublishedAt> {
    const position = deferred<PublishedAt>();
    this.#waiting.push({ publish, position });
    if (!this.#isBusy) this.#drain().catch(report);
    return position.promise;
  }

  async #drain(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#waiting.length > 0) {
        this.#commit(this.#waiting.splice(0));
        await this.#storage.sync();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  #commit(waiting: Waiting[]): void {
    try {
      const positions = this.#publish(waiting.map(({ publish }) => publish));
      waiting.forEach(({ position }, index) => {
        const at = positions[index] ?? 0;
        if (at instanceof Error) position.reject(at);
        else position.resolve(at);
      });
    } catch (error) {
      for (const { position } of waiting) position.reject(error as Error);
    }
  }
}

interface Waiting {
  publish: Publish;
  position: Deferred<PublishedAt>;
}
