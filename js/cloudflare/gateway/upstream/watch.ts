import type { ClientListenOptions, TokenProvider } from '../../../client/options.js';
import type { RequestFactory } from '../../../client/transport/target.js';
import type { WatchEvent, WatchStatus } from '../../../client/watch/status.js';
import { upstreamUrl } from '../../../handler/proxy.js';
import { ListenError } from '../../../model/error.js';
import { EVENT_TYPES_URI } from '../../../model/event.js';
import { covers, type SubscriptionFilter, union } from '../../../model/filter.js';
import { errorOf } from '../../../model/subscription-error.js';
import { report, safeOnError } from '../../../observe/on-error.js';
import { eventsOfFilter } from '../../../wasm/client/bindings.js';
import type { BusWatcher, WatchedBus, WatcherMaker } from '../../object/bus/watcher.js';
import { isOfTooMany, NameLimit } from './name-limit.js';
import { UpstreamSubscription } from './subscription.js';

/** An MCP server that a bus subscribes to on behalf of all its streams. */
export interface Upstream {
  /** The MCP endpoint of the server. */
  url: string | URL;
  /** Header fields of every request to the server. */
  headers?: HeadersInit;
  /**
   * Authorizes every request to the server. All streams may receive what the server sends to this
   * caller.
   */
  token?: TokenProvider;
  /**
   * Also subscribes to tasks. Their states may include their results, so set this only if the
   * streams of the bus are authorized: by an `authorize`, or by a gateway whose `rights` are
   * `acknowledged`. Otherwise a caller may name the task of another.
   *
   * @default false
   */
  tasks?: boolean;
  /**
   * Sends each request, for example over a service binding.
   *
   * @default globalThis.fetch
   */
  fetch?: typeof fetch;
  /**
   * Called with the reason whenever the subscription to the server fails.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Creates the `watcher` of a subclass of `SubscriptionBus`. While the bus has streams, it holds one
 * subscription to the upstream MCP server, or one session of revision 2025, for all of them. A
 * function returns the server for each bus; undefined if there is none.
 *
 * @example
 * ```ts
 * export class Bus extends SubscriptionBus {
 *   static override watcher = watchUpstream({ url: 'https://mcp.example/mcp', token: env.TOKEN });
 * }
 * ```
 */
export function watchUpstream(
  upstream: Upstream | ((bus: string) => Upstream | undefined),
): WatcherMaker {
  return (busName, bus) => {
    const watched = typeof upstream === 'function' ? upstream(busName) : upstream;
    return watched && new UpstreamWatch(bus, watched);
  };
}

/**
 * Subscribes to a server while the bus has streams: one subscription for everything that they want
 * together. Publishes what it receives and, each time that the subscription opens, what may have
 * been missed.
 */
class UpstreamWatch implements BusWatcher {
  readonly #bus: WatchedBus;
  readonly #target: RequestFactory;
  readonly #options: ClientListenOptions;
  readonly #watchesTasks: boolean;
  readonly #onError: (error: Error) => void;
  #current: UpstreamSubscription | undefined;
  /** Replaces `#current` once it is open; until then `#current` receives the events. */
  #next: UpstreamSubscription | undefined;
  /** The last subscription that the server ended for good, until it is requested again. */
  #stopped: StoppedSubscription | undefined;
  /** When a subscription was last refused or ended for good, in milliseconds since 1970. */
  #endedAt = Number.NEGATIVE_INFINITY;
  readonly #limit = new NameLimit();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @throws ListenError `invalid-options`. */
  constructor(bus: WatchedBus, { onError = report, tasks = false, url, ...options }: Upstream) {
    const upstream = upstreamUrl(url);
    this.#bus = bus;
    this.#options = options;
    this.#watchesTasks = tasks;
    this.#onError = safeOnError(onError);
    // A redirect would carry the credentials to its target.
    this.#target = ({ body, ...parts }) =>
      new Request(upstream, { ...parts, body, redirect: 'manual' });
  }

  wantedChanged(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A subscription that is opening suffices until it is open, so that changes that arrive in
      // the meantime do not restart it forever. The alarm replaces one that cannot open.
      const suffices: typeof covers = (covered, wanted) =>
        this.#next !== undefined || covers(covered, wanted);
      this.#follow(suffices).catch(this.#onError);
    }, this.#settleMs);
  }

  /**
   * Milliseconds until the subscription is updated. An update costs time in proportion to its
   * names, so the more names there are, the rarer the updates.
   */
  get #settleMs(): number {
    const { resourceSubscriptions = [], taskIds = [] } =
      (this.#next ?? this.#current)?.filter ?? {};
    const names = resourceSubscriptions.length + taskIds.length;
    return SETTLE_MS + Math.min(names * MS_PER_NAME, MAX_NAMES_MS);
  }

  async alarm(): Promise<void> {
    if (Date.now() - this.#endedAt >= RETRY_MS) {
      this.#stopped = undefined;
      this.#limit.widen(Date.now());
    }
    await this.#follow(equals);
  }

  /** Subscribes to what is wanted now, unless the latest subscription `suffices`. */
  async #follow(suffices: typeof covers): Promise<void> {
    const wanted = this.#wanted;
    if (Object.keys(wanted).length === 0) {
      this.#stop();
      // What the server has refused is requested again later.
      if (this.#limit.isPartial) await this.#bus.wakeBy(Date.now() + CHECK_MS);
      return;
    }
    try {
      if (!this.#hasRefused(wanted) && !this.#isCovered(wanted, suffices)) this.#subscribe(wanted);
    } finally {
      // If the object is evicted meanwhile, the alarm subscribes again.
      await this.#bus.wakeBy(Date.now() + CHECK_MS);
    }
  }

  #subscribe(wanted: SubscriptionFilter): void {
    const next = new UpstreamSubscription(
      this.#target,
      wanted,
      this.#options,
      (subscription, event) => this.#handle(subscription, event),
    );
    this.#next?.stop();
    this.#next = next;
  }

  #isCovered(wanted: SubscriptionFilter, suffices: typeof covers): boolean {
    const latest = this.#next ?? this.#current;
    return latest !== undefined && suffices(latest.filter, wanted);
  }

  /** Whether the server has just refused the watch, or honored nothing of what is wanted. */
  #hasRefused(wanted: SubscriptionFilter): boolean {
    const stopped = this.#stopped;
    return stopped !== undefined && (stopped.isRefusal || covers(stopped.filter, wanted));
  }

  /** Within the limit, without what only streams of events follow, which the gateway serves. */
  get #wanted(): SubscriptionFilter {
    const { taskIds = [], resourceSubscriptions = [], ...lists } = this.#bus.wanted;
    const uris = resourceSubscriptions.filter((uri) => !uri.startsWith(EVENT_TYPES_URI));
    const tasks = this.#watchesTasks ? { taskIds } : {};
    return this.#limit.partOf(union({ ...lists, resourceSubscriptions: uris }, tasks));
  }

  #stop(): void {
    this.#current?.stop();
    this.#next?.stop();
    this.#current = undefined;
    this.#next = undefined;
  }

  #handle(subscription: UpstreamSubscription, event: WatchEvent): void {
    if (event.kind === 'changed') this.#publish([JSON.stringify(event.event)]);
    else if (event.status.state === 'live') this.#open(subscription, event.status.honored ?? {});
    else if (event.status.end !== undefined)
      this.#handleLost(subscription, event.status, event.cause);
  }

  /**
   * Publishes a change for each topic that may have been missed: those that the previous
   * subscription did not cover.
   */
  #open(subscription: UpstreamSubscription, honored: SubscriptionFilter): void {
    const former = subscription === this.#next ? this.#current : undefined;
    const covered = new Set(eventsOfFilter(JSON.stringify(former?.honored ?? {})));
    subscription.honored = honored;
    this.#limit.opened(subscription.filter, honored);
    this.#stopped = undefined;
    if (subscription === this.#next) {
      this.#current = subscription;
      this.#next = undefined;
      this.wantedChanged();
    }
    // Events that the server sent on the previous subscription may still be in transit.
    former?.endAfter(LINGER_MS);
    this.#publish(eventsOfFilter(JSON.stringify(honored)).filter((topic) => !covered.has(topic)));
  }

  #handleLost(
    subscription: UpstreamSubscription,
    { end, state }: WatchStatus,
    cause: unknown,
  ): void {
    const { honored = {}, isEnding: isLeaving } = subscription;
    subscription.honored = undefined;
    if (isLeaving) {
      // It ended early and may have missed an event.
      subscription.stop();
      this.#publish(eventsOfFilter(JSON.stringify(honored)));
      return;
    }
    const error = end && errorOf(end, cause);
    if (error !== undefined) {
      this.#onError(
        new ListenError('upstream-lost', 'the subscription to the upstream server was lost', {
          cause: error,
        }),
      );
    }
    const { filter } = subscription;
    const isNarrowed =
      end !== undefined && isOfTooMany(end) && this.#limit.refuse(filter, Date.now());
    if (!isNarrowed && state !== 'stopped') return;
    subscription.stop();
    if (subscription === this.#current) this.#current = undefined;
    if (subscription === this.#next) this.#next = undefined;
    this.#endedAt = Date.now();
    if (isNarrowed) this.wantedChanged();
    else this.#stopped = { filter, isRefusal: error !== undefined };
  }

  #publish(events: string[]): void {
    if (events.length > 0) this.#bus.publishAll(events).catch(this.#onError);
  }
}

/** A subscription that the server ended for good. The same request would end the same way. */
interface StoppedSubscription {
  filter: SubscriptionFilter;
  /** Whether the server refused it; otherwise the server honored nothing of the filter. */
  isRefusal: boolean;
}

/** Whether two filters accept the same. */
function equals(covered: SubscriptionFilter, wanted: SubscriptionFilter): boolean {
  return covers(covered, wanted) && covers(wanted, covered);
}

/**
 * Milliseconds for which changes of the streams are collected before the subscription is updated.
 */
const SETTLE_MS = 250;
/**
 * Additional milliseconds for each name, so that updates take a small part of the object's time.
 */
const MS_PER_NAME = 0.5;
/** Maximum of these, so that names that are added to many are watched soon. */
const MAX_NAMES_MS = 2_000;
/** Milliseconds for which a previous subscription stays open. */
const LINGER_MS = 5_000;
/** Milliseconds between two checks that the subscription matches what is wanted. */
const CHECK_MS = 60_000;
/** Milliseconds after a refusal in which an alarm of another part of the object retries nothing. */
const RETRY_MS = 30_000;
