import { ConcurrencyLimit } from '../../timing/concurrency-limit.js';
import { PublishError } from './errors.js';

/**
 * Limits the bodies that are read before their sender is authenticated: at most 16 at a time from
 * one address, and 16 from all clients whose address is unknown, in this isolate.
 */
export class UnverifiedBodies {
  readonly #reading: ConcurrencyLimit<string>;

  /** @param bodyMs - milliseconds within which a body has to arrive; 0: no limit. */
  constructor(bodyMs: number) {
    this.#reading = new ConcurrencyLimit(bodyMs > 0 ? bodyMs : undefined);
  }

  /**
   * Runs `read` if there is room for one more body.
   *
   * @throws PublishError `too-many-bodies`.
   */
  async within<T>(address: string, read: () => Promise<T>): Promise<T> {
    const place = this.#reading.enter(address, MAX_BODIES);
    if (place === undefined) throw new PublishError('too-many-bodies');
    try {
      return await read();
    } finally {
      place.leave();
    }
  }
}

/** Maximum number of bodies that are read at a time: one megabyte. */
const MAX_BODIES = 16;
