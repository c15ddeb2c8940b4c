import type { ClientListenOptions, TokenProvider } from '../../client/options.js';
import type { RequestFactory } from '../../client/transport/target.js';
import type { WatchEvent, WatchStatus } from '../../client/watch/watch-events.js';
import { upstreamUrl } from '../../handler/proxy.js';
import { ListenError } from '../../model/error.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { errorOf } from '../../model/subscription-error.js';
import { guarded, report } from '../../observe/on-error.js';
import { subjectsOf } from '../../wasm/client/bindings.js';
import {
  type BusWatcher,
  covers,
  together,
  type WatchedBus,
  type WatcherMaker,
} from '../object/root/watcher.js';
import { UpstreamSubscription } from './upstream-subscription.js';

/** An MCP server that a bus listens to on behalf of all its streams. */
export interface Upstream {
  /** Its MCP endpoint. */
  url: string | URL;
  /** Header fields of every request to it. */
  headers?: HeadersInit;
  /** Authorizes every request to it: what it tells this caller, all streams may hear. */
  token?: TokenProvider;
  /**
   * Also listens to tasks. Their states may include their results, so set it only if the streams of
   * the bus are authorized: by an `authorize`, or by a gateway whose `rights` are `acknowledged`.
   * Otherwise a caller may name the task of another.
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
   * Called with the reason whenever the server cannot be listened to.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * For `watcher` of a class of one's own: while somebody listens to the bus, it holds one subscription to the MCP server
 * behind, or one session of 2025, for all of them. A function says for each bus which server that is; undefined: none.
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
 * Listens to a server while somebody listens to the bus: one subscription for what all streams want together. What is
 * heard is published, and what may have been missed too, each time that the subscription is opened.
 */
class UpstreamWatch implements BusWatcher {
  readonly #bus: WatchedBus;
  readonly #target: RequestFactory;
  readonly #options: ClientListenOptions;
  readonly #watchesTasks: boolean;
  readonly #onError: (error: Error) => void;
  #line: UpstreamSubscription | undefined;
  /** Takes the place of the line once it is open: until then that one is heard. */
  #next: UpstreamSubscription | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @throws ListenError `invalid-options`. */
  constructor(bus: WatchedBus, { onError = report, tasks = false, url, ...options }: Upstream) {
    const upstream = upstreamUrl(url);
    this.#bus = bus;
    this.#options = options;
    this.#watchesTasks = tasks;
    this.#onError = guarded(onError);
    // A redirect would take the credentials along to wherever it leads.
    this.#target = ({ body, ...parts }) =>
      new Request(upstream, { ...parts, body, redirect: 'manual' });
  }

  stir(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#follow(covers).catch(this.#onError);
    }, this.#settleMs);
  }

  /** To follow what is wanted costs as much as all of it has names: the more there are, the less often. */
  get #settleMs(): number {
    const { resourceSubscriptions = [], taskIds = [] } = (this.#next ?? this.#line)?.filter ?? {};
    return SETTLE_MS + (resourceSubscriptions.length + taskIds.length) * MS_PER_NAME;
  }

  async alarm(): Promise<void> {
    await this.#follow(equals);
  }

  /** Listens to what is wanted now, unless what is listened to `suffices`. */
  async #follow(
    suffices: (heard: SubscriptionFilter, wanted: SubscriptionFilter) => boolean,
  ): Promise<void> {
    const wanted = this.#wanted;
    if (Object.keys(wanted).length === 0) {
      this.#rest();
      return;
    }
    const latest = this.#next ?? this.#line;
    if (latest === undefined || !suffices(latest.filter, wanted)) {
      this.#next?.stop();
      this.#next = new UpstreamSubscription(this.#target, wanted, this.#options, (line, news) =>
        this.#take(line, news),
      );
    }
    // Where the object is forgotten meanwhile, it begins anew.
    await this.#bus.wakeBy(Date.now() + BEAT_MS);
  }

  get #wanted(): SubscriptionFilter {
    const { taskIds: _, ...others } = this.#bus.wanted;
    return together(this.#watchesTasks ? this.#bus.wanted : others, {});
  }

  #rest(): void {
    this.#line?.stop();
    this.#next?.stop();
    this.#line = undefined;
    this.#next = undefined;
  }

  #take(line: UpstreamSubscription, news: WatchEvent): void {
    if (news.kind === 'changed') this.#publish([JSON.stringify(news.event)]);
    else if (news.standing.state === 'live') this.#open(line, news.standing.honored ?? {});
    else if (news.standing.end !== undefined) this.#lose(line, news.standing, news.cause);
  }

  /** Nobody knows what was missed before, but for what the former line hears. */
  #open(line: UpstreamSubscription, honored: SubscriptionFilter): void {
    const former = line === this.#next ? this.#line : undefined;
    const heard = new Set(subjectsOf(JSON.stringify(former?.honored ?? {})));
    line.honored = honored;
    if (line === this.#next) {
      this.#line = line;
      this.#next = undefined;
    }
    // What it was told before the new one was open may still be on its way.
    former?.leave(LINGER_MS);
    this.#publish(subjectsOf(JSON.stringify(honored)).filter((subject) => !heard.has(subject)));
  }

  #lose(line: UpstreamSubscription, { end, state }: WatchStatus, cause: unknown): void {
    const { honored = {}, isLeaving } = line;
    line.honored = undefined;
    if (isLeaving) {
      // It broke off before its time, and may have had something to tell.
      line.stop();
      this.#publish(subjectsOf(JSON.stringify(honored)));
      return;
    }
    const error = end && errorOf(end, cause);
    if (error !== undefined) {
      this.#onError(
        new ListenError('upstream-lost', 'the server behind is not listened to', { cause: error }),
      );
    }
    // The next alarm, or the next stream, tries again.
    if (state === 'stopped' && line === this.#line) this.#line = undefined;
    if (state === 'stopped' && line === this.#next) this.#next = undefined;
  }

  #publish(events: string[]): void {
    if (events.length > 0) this.#bus.publishAll(events).catch(this.#onError);
  }
}

/** Whether no more is listened to than is wanted, and no less. */
function equals(heard: SubscriptionFilter, wanted: SubscriptionFilter): boolean {
  return covers(heard, wanted) && covers(wanted, heard);
}

/** Milliseconds in which streams come and go together. */
const SETTLE_MS = 250;
/** Milliseconds more for each name that is followed, so that this takes a small part of the object's time. */
const MS_PER_NAME = 0.05;
/** Milliseconds for which a former line stays open. */
const LINGER_MS = 5_000;
/** Milliseconds until it is looked whether all is still as it should be. */
const BEAT_MS = 60_000;
