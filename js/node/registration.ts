import type { BusAttachment, BusLink, ListenBus } from '../bus/bus.js';
import { ListenError } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';

/** One subscription's place on the bus, from the attempt to get it. */
export class Registration {
  #late: NodeJS.Timeout | undefined;
  #attachment: BusAttachment | undefined;
  #isReleased = false;

  /** Registers; a bus that does not confirm within `ms` milliseconds counts as lost. */
  attach(bus: ListenBus, filter: SubscriptionFilter, link: BusLink, ms: number): void {
    this.#late = setTimeout(() => link.lost(new ListenError('attach-timeout', 'the bus did not confirm in time')), ms);
    const attachment = bus.attach(filter, link);
    // The bus may have been lost, or have lost us, before it answered.
    if (this.#isReleased) attachment.detach();
    else this.#attachment = attachment;
  }

  /** Runs `action` after `ms` milliseconds, unless the place is given back first. */
  later(action: () => void, ms: number): void {
    clearTimeout(this.#late);
    this.#late = setTimeout(action, ms);
    // A client that leaves meanwhile must not have to wait for this.
    this.#late.unref();
  }

  /** The bus has confirmed. */
  confirm(): void {
    clearTimeout(this.#late);
  }

  /** Gives the place back. */
  release(): void {
    this.#isReleased = true;
    clearTimeout(this.#late);
    this.#attachment?.detach();
  }
}
