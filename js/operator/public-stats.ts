import type { BusOperator } from '../bus/operator/operator.js';
import { ListenError } from '../model/error.js';
import type { Snapshot } from '../model/stats/snapshot.js';
import { withTimeout } from '../timing/with-timeout.js';

/**
 * Statistics for everyone, without topics, callers and the log. All who ask within a second get
 * the reply to the same question: the bus, its shards and all isolates reply once a second at most.
 */
export class PublicStats {
  readonly #operator: BusOperator;
  #asked: Promise<() => Snapshot> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(operator: BusOperator) {
    this.#operator = operator;
  }

  async next(): Promise<Snapshot> {
    const now = performance.now();
    if (this.#asked === undefined || now - this.#askedAt >= FRESH_MS) {
      this.#askedAt = now;
      this.#asked = this.#ask();
    }
    // On Workers, a question has no reply if the request that asked it is cancelled.
    const latest = await withTimeout(REPLY_MS, this.#asked, late);
    return latest();
  }

  /** Asks the bus; resolves with a function that returns the reply, or throws the error. */
  async #ask(): Promise<() => Snapshot> {
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

function late(): ListenError {
  return new ListenError('bus-unavailable', 'the bus has not replied in time');
}

/** A little less than a stream's second, so that one that is alone gets new numbers each time. */
const FRESH_MS = 900;
/** Milliseconds within which the bus replies, also while edges move between its objects. */
const REPLY_MS = 5_000;
