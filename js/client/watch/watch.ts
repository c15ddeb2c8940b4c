import { calling, ListenError } from '../../model/error.js';
import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { errorOf } from '../../model/subscription-error.js';
import { eventsOfFilter, normalizeFilter } from '../../wasm/client/bindings.js';
import { expectLoaded } from '../../wasm/client/load.js';
import { runCallback } from '../callback.js';
import type { WatchedEvents } from '../events/events.js';
import type { EventHandlers, EventWatchOptions } from '../events/options.js';
import type { EventWatch } from '../events/watch-events.js';
import { type ClientListenOptions, expectTimeouts } from '../options.js';
import type { HttpTarget, ListenTarget } from '../transport/target.js';
import type { WatchState } from '../watch-state.js';
import { Handlers, type WatchHandler } from './handlers.js';
import { WatchLoop } from './loop.js';
import type { Emit, WatchEvent, WatchSource, WatchStatus } from './status.js';
import { canShare, TabSharing } from './tab-sharing.js';

/** Options of `watch`. */
export interface WatchOptions extends ClientListenOptions {
  /**
   * Whether the tabs of this origin share one stream, if the browser supports it. One of all
   * watches with the same target and filter keeps the stream open. A string names the group: use
   * different names for the tabs of different users. A target other than a URL needs a string.
   *
   * @default false
   */
  share?: boolean | string;
  /**
   * Called when a handler fails, and when a subscription ends with an error.
   *
   * @default undefined
   */
  onError?: (error: ListenError) => void;
}

/** A subscription that is reopened whenever it ends, until retrying is pointless. */
export interface Watch extends AsyncDisposable {
  /** The current state. */
  readonly state: WatchState;
  /** The part of the filter that the server honors; undefined unless the state is `live`. */
  readonly honored: SubscriptionFilter | undefined;
  /**
   * Why the watch waits or stopped. Undefined while the state is `live`, and after the server ended
   * the subscription gracefully.
   */
  readonly error: ListenError | undefined;
  /** How often the subscription was reopened. */
  readonly reconnects: number;
  /**
   * Calls `changed` whenever one of the other members has changed; returns a function that removes
   * the listener. Fits `useSyncExternalStore`.
   */
  subscribe(changed: () => void): () => void;
  /** Ends the watch permanently. */
  close(): Promise<void>;
}

/**
 * Receives the occurrences of an event (MCP Events), see `events`. Stops when the server ends the
 * subscription or refuses it permanently. After every other error it waits for up to 30 seconds, or
 * for as long as the server asks, and resumes at its cursor.
 *
 * @throws ListenError `invalid-options`. The abort reason of `signal`.
 */
export function watch(
  target: HttpTarget,
  events: WatchedEvents,
  handlers: EventHandlers,
  options?: EventWatchOptions,
): EventWatch;
/**
 * Stays subscribed: calls `handler` when the subscription opens, at each change, and again each
 * time the subscription was reopened. Stops on 401 and 403, and if the server has no subscriptions.
 * After every other end it waits for up to 30 seconds, or for as long as the server asks, and
 * reopens.
 *
 * @throws ListenError `invalid-filter` or `invalid-options`. The abort reason of `signal`.
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
  options?: WatchOptions,
): Watch;
export function watch(
  target: ListenTarget,
  subject: SubscriptionFilter | WatchedEvents,
  handler: WatchHandler | EventHandlers,
  options: WatchOptions & EventWatchOptions = {},
): Watch | EventWatch {
  // What opens the events comes with them, so that a watch of cues has no code for events.
  if (isEvents(subject))
    return subject.open(target as HttpTarget, handler as EventHandlers, options);
  return new Watcher(target, subject, handler as WatchHandler, options);
}

/** A filter that was read from JSON may have any members, but no function. */
function isEvents(subject: SubscriptionFilter | WatchedEvents): subject is WatchedEvents {
  return typeof (subject as Partial<WatchedEvents> | null)?.open === 'function';
}

class Watcher implements Watch {
  error: ListenError | undefined;
  #status: WatchStatus = { state: 'connecting', reconnects: 0 };
  readonly #handlers: Handlers;
  readonly #options: WatchOptions;
  readonly #observers = new Set<() => void>();
  readonly #source: WatchSource;

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
    this.#source = openSource(
      target,
      calling(() => normalizeFilter(JSON.stringify(filter))),
      options,
      (event) => this.#handle(event),
    );
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get state(): WatchState {
    return this.#status.state;
  }

  get honored(): SubscriptionFilter | undefined {
    return this.#status.honored;
  }

  get reconnects(): number {
    return this.#status.reconnects;
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#observers.add(changed);
    return () => this.#observers.delete(changed);
  };

  async close(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#abort);
    if (this.state === 'stopped') return;
    this.#source.stop();
    this.#setStatus({ state: 'stopped', reconnects: this.reconnects }, undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #handle(event: WatchEvent): void {
    if (this.state === 'stopped') return;
    if (event.kind === 'changed') this.#handlers.changed(event.event);
    else this.#handleStatus(event.status, event.cause);
  }

  #handleStatus(status: WatchStatus, cause: unknown): void {
    const error = status.end && errorOf(status.end, cause);
    this.#setStatus(status, error);
    if (status.state === 'live') this.#handlers.all(eventsOf(status.honored));
    if (error !== undefined) runCallback(() => this.#options.onError?.(error));
    if (status.state === 'stopped') this.#source.stop();
  }

  #setStatus(status: WatchStatus, error: ListenError | undefined): void {
    this.#status = status;
    // Until the next attempt has succeeded or failed, the reason of the last end still applies.
    if (error !== undefined || status.state !== 'connecting') this.error = error;
    for (const changed of [...this.#observers]) runCallback(changed);
  }

  readonly #abort = (): void => void this.close();
}

/** Opens a stream for this watch alone, or joins the stream that the tabs share. */
function openSource(
  target: ListenTarget,
  filter: string,
  options: WatchOptions,
  emit: Emit,
): WatchSource {
  const begin = (emit: Emit) => new WatchLoop(target, filter, options, emit);
  const { share = false } = options;
  if (share === false || !canShare()) return begin(emit);
  const group = typeof share === 'string' ? share : nameOf(target);
  return new TabSharing(`mcp-listen ${group} ${filter}`, begin, emit);
}

function eventsOf(honored: SubscriptionFilter = {}): ChangeEvent[] {
  return eventsOfFilter(JSON.stringify(honored)).map((text) => JSON.parse(text) as ChangeEvent);
}

function nameOf(target: ListenTarget): string {
  if (typeof target === 'string' || target instanceof URL) return String(target);
  throw new ListenError('invalid-options', 'share must be a name if the target is not a URL');
}
