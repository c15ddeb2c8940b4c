import { calling, ListenError } from '../../model/error.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { errorOf } from '../../model/subscription-error.js';
import { normalizeFilter } from '../../wasm/client/bindings.js';
import { expectLoaded } from '../../wasm/client/load.js';
import { type ClientListenOptions, expectTimeouts } from '../options.js';
import type { ListenTarget } from '../transport/target.js';
import { Handlers, type WatchHandler } from './handlers.js';
import { canShare, TabSharing } from './tab-sharing.js';
import type { Emit, WatchEvent, WatchSource, WatchState, WatchStatus } from './watch-events.js';
import { WatchLoop } from './watch-loop.js';

/** How to stay subscribed. */
export interface WatchOptions extends ClientListenOptions {
  /**
   * Whether the tabs of this origin share one stream, where the browser can: of all watches with the same target and
   * filter one keeps it open. Give tabs of different users different names.
   *
   * @default false
   */
  share?: boolean | string;
  /** Called when a handler fails, and when a subscription ends with an error. */
  onError?: (error: ListenError) => void;
}

/** A subscription that is opened again whenever it ends, until that is of no use. */
export interface Watch extends AsyncDisposable {
  /** Where it stands. */
  readonly state: WatchState;
  /** What the server honors; undefined while it is not live. */
  readonly honored: SubscriptionFilter | undefined;
  /** Why it waits or stopped; undefined while it is live, and where the server ended the subscription gracefully. */
  readonly error: ListenError | undefined;
  /** How often it was opened again. */
  readonly reconnects: number;
  /** Calls `changed` whenever one of the others has changed; the answer ends that. Fits `useSyncExternalStore`. */
  subscribe(changed: () => void): () => void;
  /** Ends it for good. */
  close(): Promise<void>;
}

/**
 * Stays subscribed: calls `handler` whenever something may have changed, first when the subscription opens, then at each
 * change, and again each time that it had to be opened anew. It stops on 401, 403 and where the server has no
 * subscriptions; every other end is waited out, up to 30 seconds and what the server asks for.
 *
 * @throws ListenError `invalid-filter` or `invalid-options`. What `signal` was aborted with.
 *
 * @example
 * ```ts
 * const watching = watch('https://mcp.example/mcp', { toolsListChanged: true }, () => readTools());
 * await watching.close();
 * ```
 */
export function watch(
  target: ListenTarget,
  filter: SubscriptionFilter,
  handler: WatchHandler,
  options: WatchOptions = {},
): Watch {
  return new Watcher(target, filter, handler, options);
}

class Watcher implements Watch {
  error: ListenError | undefined;
  #standing: WatchStatus = { state: 'connecting', reconnects: 0 };
  readonly #handlers: Handlers;
  readonly #options: WatchOptions;
  readonly #observers = new Set<() => void>();
  readonly #line: WatchSource;

  constructor(
    target: ListenTarget,
    filter: SubscriptionFilter,
    handler: WatchHandler,
    options: WatchOptions,
  ) {
    const { signal } = options;
    signal?.throwIfAborted();
    expectLoaded();
    expectTimeouts(options);
    this.#options = options;
    this.#handlers = new Handlers(handler, (cause) =>
      options.onError?.(
        new ListenError('handler-failed', 'a handler of the watch failed', { cause }),
      ),
    );
    this.#line = lineTo(
      target,
      calling(() => normalizeFilter(JSON.stringify(filter))),
      options,
      (news) => this.#take(news),
    );
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get state(): WatchState {
    return this.#standing.state;
  }

  get honored(): SubscriptionFilter | undefined {
    return this.#standing.honored;
  }

  get reconnects(): number {
    return this.#standing.reconnects;
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#observers.add(changed);
    return () => this.#observers.delete(changed);
  };

  async close(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#abort);
    if (this.state === 'stopped') return;
    this.#line.stop();
    this.#stand({ state: 'stopped', reconnects: this.reconnects }, undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(news: WatchEvent): void {
    if (this.state === 'stopped') return;
    if (news.kind === 'changed') this.#handlers.changed(news.event);
    else this.#turn(news.standing, news.cause);
  }

  #turn(standing: WatchStatus, cause: unknown): void {
    const error = standing.end && errorOf(standing.end, cause);
    this.#stand(standing, error);
    if (standing.state === 'live') this.#handlers.all(standing.honored ?? {});
    if (error !== undefined) this.#options.onError?.(error);
    if (standing.state === 'stopped') this.#line.stop();
  }

  #stand(standing: WatchStatus, error: ListenError | undefined): void {
    this.#standing = standing;
    // While the next attempt is under way, the reason of the last end is still the news.
    if (error !== undefined || standing.state !== 'connecting') this.error = error;
    for (const changed of [...this.#observers]) changed();
  }

  readonly #abort = (): void => void this.close();
}

/** A stream of this watch alone, or the one that its tabs share. */
function lineTo(
  target: ListenTarget,
  filter: string,
  options: WatchOptions,
  tell: Emit,
): WatchSource {
  const begin = (told: Emit) => new WatchLoop(target, filter, options, told);
  const { share = false } = options;
  if (share === false || !canShare()) return begin(tell);
  const whom = typeof share === 'string' ? share : nameOf(target);
  return new TabSharing(`mcp-listen ${whom} ${filter}`, begin, tell);
}

function nameOf(target: ListenTarget): string {
  if (typeof target === 'string' || target instanceof URL) return String(target);
  throw new ListenError('invalid-options', 'share needs a name where the target is no url');
}
