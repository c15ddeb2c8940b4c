import type { ClientListenOptions } from '../../client/options.js';
import type { HttpTarget } from '../../client/transport/target.js';
import type { WatchEvent } from '../../client/watch/watch-events.js';
import { WatchLoop } from '../../client/watch/watch-loop.js';
import type { SubscriptionFilter } from '../../model/filter.js';

/** One subscription to a server, which is opened again whenever it ends. */
export class UpstreamSubscription {
  /** What it asks for. */
  readonly filter: SubscriptionFilter;
  /** What the server honors of that; undefined while it is not open. */
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

  /** Whether it will end soon, because another one has taken its place. */
  get isLeaving(): boolean {
    return this.#leaves !== undefined;
  }

  /** Ends it in a while; what it hears until then counts. */
  leave(afterMs: number): void {
    this.#leaves ??= setTimeout(() => this.stop(), afterMs);
  }

  /** Ends it now. */
  stop(): void {
    this.#isOver = true;
    if (this.#leaves !== undefined) clearTimeout(this.#leaves);
    this.#loop.stop();
  }
}
