import { PublishError } from './errors.js';

/**
 * Bounds the bodies that are read before it is known who sent them: at most 16 at a time from one address, and 16 from
 * all clients whose address is unknown, in this isolate.
 */
export class UnverifiedBodies {
  readonly #mostMs: number;
  readonly #reading = new Map<string, Set<Reading>>();

  /** @param bodyMs - milliseconds that a body may take to arrive; 0: no limit. */
  constructor(bodyMs: number) {
    this.#mostMs = bodyMs > 0 ? bodyMs : MINUTE_MS;
  }

  /**
   * Runs `read` while there is room for the body of one more request.
   *
   * @throws PublishError `too-many-bodies`.
   */
  async within<T>(address: string, read: () => Promise<T>): Promise<T> {
    const all = this.#of(address);
    if (all.size >= MAX_BODIES) throw new PublishError('too-many-bodies');
    const reading = { until: Date.now() + this.#mostMs };
    all.add(reading);
    try {
      return await read();
    } finally {
      all.delete(reading);
    }
  }

  /** Workers stop without an end where the client leaves, so that a body also makes room at its deadline. */
  #of(address: string): Set<Reading> {
    const all = this.#reading.get(address) ?? new Set();
    for (const reading of all) if (Date.now() >= reading.until) all.delete(reading);
    this.#reading.delete(address);
    this.#reading.set(address, all);
    const [longestAgo] = this.#reading.keys();
    if (this.#reading.size > MAX_ADDRESSES && longestAgo !== undefined)
      this.#reading.delete(longestAgo);
    return all;
  }
}

interface Reading {
  /** When it no longer counts, in milliseconds since 1970. */
  until: number;
}

/** Bodies that are read at a time: a megabyte. */
const MAX_BODIES = 16;
/** Addresses that are counted at a time. */
const MAX_ADDRESSES = 10_000;
/** Milliseconds for which a body without a deadline counts. */
const MINUTE_MS = 60_000;
