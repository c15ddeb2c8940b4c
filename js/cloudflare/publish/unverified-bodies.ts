import { ConcurrencyLimit } from '../../timing/concurrency-limit.js';
import { PublishError } from './errors.js';

/**
 * Limits the bodies that are read before their sender is authenticated: at most 16 at a time from
 * one address, as many from all clients whose address is unknown, and 128 from all, in this
 * isolate.
 */
export class UnverifiedBodies {
  readonly #ofAddress: ConcurrencyLimit<string>;
  readonly #all: ConcurrencyLimit<undefined>;

  /** @param bodyMs - milliseconds within which a body has to arrive; 0: no limit. */
  constructor(bodyMs: number) {
    const maxMs = bodyMs > 0 ? bodyMs : undefined;
    this.#ofAddress = new ConcurrencyLimit(maxMs);
    this.#all = new ConcurrencyLimit(maxMs);
  }

  /**
   * Runs `read` if there is room for one more body.
   *
   * @throws PublishError `too-many-bodies`.
   */
  async within<T>(address: string, read: () => Promise<T>): Promise<T> {
    const own = this.#ofAddress.enter(address, MAX_OF_ADDRESS);
    const shared = own && this.#all.enter(undefined, MAX_BODIES);
    try {
      if (shared === undefined) throw new PublishError('too-many-bodies');
      return await read();
    } finally {
      shared?.leave();
      own?.leave();
    }
  }
}

/** Maximum number of bodies of one address. */
const MAX_OF_ADDRESS = 16;
/** Maximum number of bodies: eight megabytes, and on a bus with events 32. */
const MAX_BODIES = 128;
