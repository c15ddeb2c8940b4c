import { ListenError } from '../../model/error.js';
import type { EventError } from '../../model/events/event-error.js';
import { SubscriptionRefused } from '../../model/subscription-error.js';
import { Backoff } from '../backoff.js';
import { runCallback } from '../callback.js';
import { now } from '../clock.js';
import type { HttpTarget } from '../transport/target.js';
import type { WatchState } from '../watch-state.js';
import { listedModes } from './catalogue.js';
import { delay } from './delay.js';
import { Delivery } from './delivery.js';
import type { EventParams, Followed } from './followed.js';
import { type EventWatchMode, expectSpans, type WatchEventsOptions } from './options.js';
import { pollEvents } from './poll.js';
import { EventsRefused, isFinal } from './refusal.js';
import { EventRequests } from './requests.js';
import { streamEvents } from './stream.js';

/** A subscription to an event that is resumed whenever it is lost, until retrying is pointless. */
export interface EventWatch extends AsyncDisposable {
  /** The current state. */
  readonly state: WatchState;
  /** How events are received; undefined until the mode is chosen. */
  readonly mode: EventWatchMode | undefined;
  /** Why the watch waits or stopped. Undefined while the state is `live`. */
  readonly error: ListenError | undefined;
  /** How often the subscription was reopened. */
  readonly reconnects: number;
  /** Resolves when the watch has stopped and no handler runs. Never rejects. */
  readonly stopped: Promise<void>;
  /**
   * Calls `changed` whenever `state`, `mode`, `error` or `reconnects` has changed; returns a
   * function that removes the listener. Fits `useSyncExternalStore`.
   */
  subscribe(changed: () => void): () => void;
  /** Ends the watch permanently. A handler that runs is not interrupted. */
  close(): Promise<void>;
}

/**
 * Does what `watch` does with `events`, without WebAssembly: for programs that watch nothing else.
 * Receives the events of a server of revision 2026-07-28 with the extension
 * `io.modelcontextprotocol/events`, over a stream or by polling. A lost connection is resumed at
 * the cursor: no event that the server still has is missed, and one may come twice. Stops when the
 * server ends the subscription or refuses it permanently. After every other error it waits for up
 * to 30 seconds, or for as long as the server asks, and tries again.
 *
 * @throws ListenError `invalid-options`. The abort reason of `signal`.
 *
 * @example
 * ```ts
 * const watching = watchEvents('https://mcp.example/mcp', {
 *   name: 'order.paid',
 *   onEvent: ({ data }) => ship(data),
 *   onGap: () => readAllOrders(),
 *   onTerminated: ({ code }) => console.error('the server ended the subscription:', code),
 * });
 * await watching.close();
 * ```
 */
export function watchEvents(target: HttpTarget, options: WatchEventsOptions): EventWatch {
  return new EventWatcher(target, options);
}

class EventWatcher implements EventWatch {
  state: WatchState = 'connecting';
  mode: EventWatchMode | undefined;
  error: ListenError | undefined;
  reconnects = 0;
  readonly stopped: Promise<void>;
  readonly #observers = new Set<() => void>();
  readonly #options: WatchEventsOptions;
  readonly #params: EventParams;
  readonly #stop = new AbortController();
  readonly #requests: EventRequests;
  readonly #delivery: Delivery;
  readonly #backoff = new Backoff();
  /** The modes of the event that were not refused, the preferred one first. */
  #modes: EventWatchMode[] = [];
  #liveSince: number | undefined;
  #wasLive = false;

  constructor(target: HttpTarget, options: WatchEventsOptions) {
    const { arguments: args = {}, maxAgeMs, mode = 'auto', name, signal } = options;
    signal?.throwIfAborted();
    expectSpans(options);
    this.#options = { ...options };
    this.#params = { name, arguments: args, ...(maxAgeMs !== undefined && { maxAgeMs }) };
    this.#requests = new EventRequests(target, options, this.#stop.signal);
    this.#delivery = new Delivery(this.#options, this.#stop.signal);
    if (mode !== 'auto') this.#modes = [mode];
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.stopped = this.#run();
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#observers.add(changed);
    return () => this.#observers.delete(changed);
  };

  async close(): Promise<void> {
    this.#abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#set({ state: 'connecting' });
      const error = await this.#follow();
      if (!signal.aborted) await this.#handleEnd(error);
    }
  }

  /** Receives events until the subscription ends. Returns the error that ended it. */
  async #follow(): Promise<ListenError | undefined> {
    try {
      await this.#delivery.load();
      if (this.#modes.length === 0)
        this.#modes = await listedModes(this.#requests, this.#params.name);
      if (this.mode !== this.#modes[0]) this.#set({ mode: this.#modes[0] });
      if (this.mode === 'poll') return await pollEvents(this.#followed());
      const reason = await streamEvents(this.#followed());
      if (reason !== undefined && !this.#mayRenew(reason)) await this.#terminate(reason);
      return undefined;
    } catch (error) {
      if (error instanceof ListenError) return error;
      return new ListenError('disconnected', 'the subscription was lost', { cause: error });
    }
  }

  #followed(): Followed {
    const [requests, delivery, params] = [this.#requests, this.#delivery, this.#params];
    const [wasLive, { signal }] = [this.#wasLive, this.#stop];
    return { requests, delivery, params, wasLive, signal, live: () => this.#live() };
  }

  #live(): void {
    if (this.#stop.signal.aborted || this.state === 'live') return;
    this.#liveSince = now();
    if (this.#wasLive) this.reconnects += 1;
    this.#wasLive = true;
    this.#set({ state: 'live', error: undefined });
  }

  async #handleEnd(error: ListenError | undefined): Promise<void> {
    const mayRenew = error instanceof EventsRefused && this.#mayRenew(error.reason);
    const wasStable = this.#liveSince !== undefined && now() - this.#liveSince >= STABLE_MS;
    this.#liveSince = undefined;
    if (wasStable) this.#backoff.reset();
    if (isUnsupported(error) && this.#modes.length > 1) this.#modes.shift();
    else if (error !== undefined && isFinal(error) && !mayRenew) await this.#refuse(error);
    else await this.#rest(error);
  }

  /**
   * Returns whether another token may help: servers also end a subscription that was live with
   * `forbidden` when its token has expired.
   */
  #mayRenew(reason: EventError | undefined): boolean {
    const { token } = this.#options;
    const wasLive = this.#liveSince !== undefined;
    return reason?.code === 'forbidden' && typeof token === 'function' && wasLive;
  }

  /** Stops after an error that makes retrying pointless. */
  async #refuse(error: ListenError): Promise<void> {
    const reason = error instanceof EventsRefused ? error.reason : undefined;
    if (this.#wasLive && reason !== undefined) return this.#terminate(reason);
    this.#set({ state: 'stopped', error });
    this.#abort();
    this.#delivery.report(error);
  }

  /** Stops because the server has ended the subscription. */
  async #terminate(reason: EventError): Promise<void> {
    this.#set({ state: 'stopped', error: new EventsRefused({ status: 200 }, reason) });
    this.#abort();
    try {
      await this.#options.onTerminated(reason);
    } catch (cause) {
      const text = 'the handler of the end failed';
      this.#delivery.report(new ListenError('handler-failed', text, { cause }));
    }
  }

  /** Waits before the next attempt. */
  async #rest(error: ListenError | undefined): Promise<void> {
    this.#set({ state: 'waiting', error });
    if (error !== undefined) this.#delivery.report(error);
    const retryAfterMs = error instanceof SubscriptionRefused ? (error.retryAfterMs ?? 0) : 0;
    // Rejects only when the watch is closed.
    await delay(retryAfterMs + this.#backoff.next(), this.#stop.signal).catch(() => {});
  }

  readonly #abort = (): void => {
    this.#options.signal?.removeEventListener('abort', this.#abort);
    if (this.state !== 'stopped') this.#set({ state: 'stopped' });
    this.#stop.abort();
  };

  #set(status: Partial<Pick<EventWatcher, 'state' | 'mode' | 'error'>>): void {
    Object.assign(this, status);
    for (const changed of [...this.#observers]) runCallback(changed);
  }
}

function isUnsupported(error: ListenError | undefined): boolean {
  return error instanceof EventsRefused && error.reason?.code === 'unsupported';
}

/** A subscription that was live for this many milliseconds shows that the server is healthy. */
const STABLE_MS = 30_000;
