import { MINUTE_MS } from '../../timing/spans.js';
import { PublishError } from './errors.js';

/**
 * Limits the bodies that are read before their sender is authenticated: at most 16 at a time from
 * one address, and 16 from all clients whose address is unknown, in this isolate.
 */
export class UnverifiedBodies {
  readonly #maxMs: number;
  readonly #reading = new Map<string, Set<UnverifiedBody>>();

  /** @param bodyMs - milliseconds within which a body has to arrive; 0: no limit. */
  constructor(bodyMs: number) {
    this.#maxMs = bodyMs > 0 ? bodyMs : MINUTE_MS;
  }

  /**
   * Runs `read` if there is room for one more body.
   *
   * @throws PublishError `too-many-bodies`.
   */
  async within<T>(address: string, read: () => Promise<T>): Promise<T> {
    const all = this.#of(address);
    if (all.size >= MAX_BODIES) throw new PublishError('too-many-bodies');
    const reading = { until: Date.now() + this.#maxMs };
    all.add(reading);
    try {
      return await read();
    } finally {
      all.delete(reading);
    }
  }

  /**
   * Returns the bodies of an address that are being read, without those past their deadline:
   * Workers may stop without running `finally` when the client disconnects.
   */
  #of(address: string): Set<UnverifiedBody> {
    const all = this.#reading.get(address) ?? new Set();
    for (const reading of all) if (Date.now() >= reading.until) all.delete(reading);
    this.#reading.delete(address);
    this.#reading.set(address, all);
    const [oldest] = this.#reading.keys();
    if (this.#reading.size > MAX_ADDRESSES && oldest !== undefined) this.#reading.delete(oldest);
    return all;
  }
}

interface UnverifiedBody {
  /** When the body no longer counts, in milliseconds since 1970. */
  until: number;
}

/** Maximum number of bodies that are read at a time: one megabyte. */
const MAX_BODIES = 16;
/** Maximum number of addresses that are counted. */
const MAX_ADDRESSES = 10_000;
