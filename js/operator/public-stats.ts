import type { BusOperator } from '../bus/operator/operator.js';
import type { Snapshot } from '../model/stats/snapshot.js';

/**
 * Statistics for everyone, without topics, callers and the log. All who ask within a second get
 * the same ones: the bus, its shards and all isolates answer once a second at most.
 */
export class PublicStats {
  readonly #operator: BusOperator;
  #latest: (() => Snapshot) | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(operator: BusOperator) {
    this.#operator = operator;
  }

  async next(): Promise<Snapshot> {
    const now = performance.now();
    if (this.#latest === undefined || now - this.#askedAt >= FRESH_MS) {
      this.#askedAt = now;
      this.#latest = await this.#asked();
    }
    return this.#latest();
  }

  /** Asks the bus; returns what returns the answer, or throws the error. */
  async #asked(): Promise<() => Snapshot> {
    try {
      const snapshot = await this.#operator.snapshot({ hasCallers: false, after: 0 });
      const latest = { ...snapshot, topics: [], log: [] };
      return () => latest;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }
}

/** A little less than a stream's second, so that one that is alone gets new numbers each time. */
const FRESH_MS = 900;
