import type { ClientListenOptions } from '../../../client/options.js';
import type { HttpTarget } from '../../../client/transport/target.js';
import { WatchLoop } from '../../../client/watch/loop.js';
import type { WatchEvent } from '../../../client/watch/status.js';
import type { SubscriptionFilter } from '../../../model/filter.js';

/** A subscription to a server, which is reopened whenever it ends. */
export class UpstreamSubscription {
  /** The requested filter. */
  readonly filter: SubscriptionFilter;
  /** The honored filter; undefined while the subscription is not open. */
  honored: SubscriptionFilter | undefined;
  readonly #loop: WatchLoop;
  #endTimer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  constructor(
    target: HttpTarget,
    filter: SubscriptionFilter,
    options: ClientListenOptions,
    emit: (subscription: UpstreamSubscription, event: WatchEvent) => void,
  ) {
    this.filter = filter;
    this.#loop = new WatchLoop(target, JSON.stringify(filter), options, (event) => {
      if (!this.#isStopped) emit(this, event);
    });
  }

  /** Whether the subscription ends soon because another one has replaced it. */
  get isEnding(): boolean {
    return this.#endTimer !== undefined;
  }

  /** Ends the subscription after `afterMs` milliseconds; events received until then count. */
  endAfter(afterMs: number): void {
    this.#endTimer ??= setTimeout(() => this.stop(), afterMs);
  }

  /** Ends the subscription now. */
  stop(): void {
    this.#isStopped = true;
    if (this.#endTimer !== undefined) clearTimeout(this.#endTimer);
    this.#loop.stop();
  }
}
