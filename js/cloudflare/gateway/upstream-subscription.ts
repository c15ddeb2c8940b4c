import type { ClientListenOptions } from '../../client/options.js';
import type { HttpTarget } from '../../client/transport/target.js';
import type { WatchEvent } from '../../client/watch/watch-events.js';
import { WatchLoop } from '../../client/watch/watch-loop.js';
import type { SubscriptionFilter } from '../../model/filter.js';

/** A subscription to a server, which is reopened whenever it ends. */
export class UpstreamSubscription {
  /** The requested filter. */
  readonly filter: SubscriptionFilter;
  /** The honored filter; undefined while the subscription is not open. */
  honored: SubscriptionFilter | undefined;
  readonly #loop: WatchLoop;
  #leaves: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(
    target: HttpTarget,
    filter: SubscriptionFilter,
    options: ClientListenOptions,
    tell: (line: UpstreamSubscription, news: WatchEvent) => void,
  ) {
    this.filter = filter;
    this.#loop = new WatchLoop(target, JSON.stringify(filter), options, (news) => {
      if (!this.#isOver) tell(this, news);
    });
  }

  /** Whether the subscription ends soon because another one has replaced it. */
  get isLeaving(): boolean {
    return this.#leaves !== undefined;
  }

  /** Ends the subscription after `afterMs` milliseconds; events received until then count. */
  leave(afterMs: number): void {
    this.#leaves ??= setTimeout(() => this.stop(), afterMs);
  }

  /** Ends the subscription now. */
  stop(): void {
    this.#isOver = true;
    if (this.#leaves !== undefined) clearTimeout(this.#leaves);
    this.#loop.stop();
  }
}
