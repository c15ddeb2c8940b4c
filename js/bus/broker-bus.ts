import { ListenError } from '../model/error.js';
import type { ServerEvent } from '../model/event.js';
import { report, safeOnError } from '../observe/on-error.js';
import { deferred } from '../timing/deferred.js';
import { keepTrying } from '../timing/keep-trying.js';
import { withTimeout } from '../timing/with-timeout.js';
import type {
  AttachableBus,
  AttachmentCounters,
  AttachmentListener,
  BusConnection,
  FanoutSink,
} from './attachable-bus.js';
import type { Broker, BrokerListener } from './broker/broker.js';
import type { ListenBus } from './bus.js';
import { eventText, normalized } from './event-text.js';
import {
  type EmitOptions,
  type EventLogMaker,
  type EventPublisher,
  type EventReceipt,
  type EventSource,
  isOccurrence,
} from './events.js';
import { LocalBus } from './memory/local-bus.js';
import { BrokerEvents } from './occurrences/broker-events.js';
import type { CountedBus, OperatedStreams } from './operator/operator.js';
import { ServedStreams } from './operator/served-streams.js';
import type { RetentionOptions } from './retention.js';
import type { SessionStore } from './session-store.js';
import { BrokerInterest, isSignal } from './wanted/broker-interest.js';
import type { WantedBus } from './wanted/interest.js';
import type { WantedOptions } from './wanted/options.js';
import type { Topic } from './wanted/topic.js';

/** Options of {@link brokerBus}. */
export interface BrokerBusOptions extends RetentionOptions {
  /**
   * Called with publishes that fail, with the loss of the broker (`bus-lost`, once per outage),
   * with messages that are not events (`bus-frame-dropped`), and once if the broker keeps refusing
   * the signals of `wanted` (`bus-unavailable`).
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Hooks for what the streams of all processes subscribe to, `isWanted` and `listeners`: `{}`
   * enables these two alone. Every process of the bus needs the same option.
   *
   * @default undefined
   */
  wanted?: WantedOptions;
  /**
   * Opens the log of occurrences of MCP Events: `eventLog()` of `mcp-listen/events`. Redis and
   * JetStream keep the log, and each process has a copy in its memory; over other brokers
   * occurrences are delivered at most once, to streams. Without it the bus carries changes only.
   *
   * @default undefined
   */
  events?: EventLogMaker;
}

/** Options of a bus between processes. */
export interface ProcessBusOptions extends BrokerBusOptions {
  /**
   * The name of the bus at the broker. Servers whose buses have the same name receive each other's
   * events.
   *
   * @default 'mcp-listen'
   */
  bus?: string;
}

/** A bus that connects several processes. */
export interface ProcessBus extends ListenBus, EventPublisher, WantedBus, CountedBus {
  /**
   * Starts to connect, and resolves once the bus receives everything published from then on. A
   * server waits for it itself.
   *
   * @throws ListenError (as a rejection) `bus-lost`: the bus is closed.
   */
  ready(): Promise<void>;
  /** Returns the state and the counters of this process's end of the bus. */
  stats(): ProcessBusStats;
  /**
   * Stops receiving and publishing; streams that are still open end without a result. Close the
   * server first.
   */
  close(): Promise<void>;
}

/**
 * Creates a bus from a broker. The bus connects again after a loss, delivers the broker's events to
 * the streams of this process, notifies these of gaps, and keeps sessions of clients of 2025 in
 * this process.
 *
 * @throws ListenError `invalid-options`.
 * @example
 * ```ts
 * const bus = brokerBus(new PostgresBroker('postgres://127.0.0.1/notes'));
 * const server = createListenHandler(handler, { bus });
 * ```
 */
export function brokerBus(broker: Broker, options: BrokerBusOptions = {}): ProcessBus {
  return new BrokerBus(broker, options);
}

/** The state and the counters of one process's end of a bus. */
export interface ProcessBusStats {
  /** Whether it is connected and receives everything. */
  isLive: boolean;
  /** Number of times the broker was lost. */
  outages: number;
  /** Number of times every stream was resynced, because missed events could not be determined. */
  gaps: number;
  /** Messages of the broker with lines that are not events. The other lines were delivered. */
  dropped: number;
}

/**
 * A bus whose events a broker carries between processes. It follows the broker, and delivers its
 * events to the streams of this process. A process receives its own events from the broker, too.
 */
export class BrokerBus implements ProcessBus, AttachableBus, BrokerListener {
  readonly #broker: Broker;
  readonly #onError: (error: Error) => void;
  readonly #local: LocalBus;
  /** @internal */
  readonly interest: BrokerInterest | undefined;
  readonly #events: BrokerEvents | undefined;
  readonly #closing = new AbortController();
  readonly #streamCounts = { outages: 0, healed: 0, gaps: 0, resyncs: 0 };
  readonly #counts = { outages: 0, gaps: 0, dropped: 0 };
  readonly #listeners = new Set<() => void>();
  readonly #served = new ServedStreams();
  #live = deferred();
  #isLive = false;
  #hasBegun = false;
  #isFollowing = false;
  /** Reports an outage once, not on every failed reconnect. */
  #isReported = false;

  /** @throws ListenError `invalid-options`. */
  constructor(broker: Broker, { events, onError = report, wanted, ...rest }: BrokerBusOptions) {
    this.#broker = broker;
    this.#onError = safeOnError(onError);
    this.#local = new LocalBus(() => this.interest?.sweepSoon(), {
      ...rest,
      onError: this.#onError,
    });
    this.interest =
      wanted &&
      new BrokerInterest(broker, {
        ...{ onError: this.#onError, wanted, sessions: this.#local.sessionTopics },
        context: { bus: undefined, publish: (event) => this.publish(event) },
        streamsOf: (principal) => this.#served.streamsOf(principal),
        isLive: () => this.#isLive,
      });
    if (events === undefined) return;
    this.#events = new BrokerEvents(broker, events, {
      deliver: (cues) => this.#local.deliver(cues),
      drop: (error) => this.#reportDropped(error),
      onError: this.#onError,
      closed: this.#closing.signal,
    });
  }

  /** @internal */
  get events(): EventSource | undefined {
    return this.#events;
  }

  /** Sessions of clients of earlier revisions, in this process only. */
  get sessions(): SessionStore {
    this.#follow();
    return this.#local.sessions;
  }

  get counters(): AttachmentCounters {
    return { away: this.#isLive ? 0 : this.#local.attached, ...this.#streamCounts };
  }

  stats(): ProcessBusStats {
    return { isLive: this.#isLive, ...this.#counts };
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  publishAll(events: ServerEvent[]): Promise<void> {
    const published = this.#publish(events);
    published.catch(this.#onError);
    return published;
  }

  emit(name: string, data: Record<string, unknown>, options?: EmitOptions): Promise<EventReceipt> {
    const published = this.#emit(name, data, options);
    published.catch(this.#onError);
    return published;
  }

  /**
   * A listener that may have missed events receives a change of every list. Changed resources
   * cannot be determined, so `onError` is called.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    this.#follow();
    const leave = this.#local.subscribe(listener);
    this.#listeners.add(leave);
    return () => {
      this.#listeners.delete(leave);
      leave();
    };
  }

  connect(frame: string, listener: AttachmentListener): BusConnection {
    this.#follow();
    return this.#local.connect(frame, listener);
  }

  subscribeAll(sink: FanoutSink): () => void {
    if (this.#isClosed) throw new ListenError('bus-lost', 'the bus is closed');
    this.#follow();
    return this.#local.subscribeAll(sink);
  }

  async ready(): Promise<void> {
    this.#follow();
    await this.#live.promise;
    if (this.#isClosed) throw new ListenError('bus-lost', 'the bus is closed');
  }

  async isWanted(topic: Topic): Promise<boolean> {
    return this.#expectInterest().isWanted(topic);
  }

  async listeners(principal: string): Promise<number> {
    const interest = this.#expectInterest();
    if (!this.#isLive) throw new ListenError('bus-unavailable', 'the broker is unavailable');
    const elsewhere = await interest.listenersElsewhere(principal);
    return elsewhere + this.#served.streamsOf(principal);
  }

  /** Counts the streams of a server; the process operates them itself. */
  operate(streams: OperatedStreams): undefined {
    this.#served.add(streams);
  }

  async settle(): Promise<void> {
    if (!this.#isLive) throw new ListenError('bus-lost', 'the broker of the bus is unavailable');
    await this.#broker.settle?.();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isLive = false;
    try {
      await this.interest?.close();
    } finally {
      this.#closing.abort();
      this.#live.resolve();
      this.#local.end();
      await this.#broker.close();
    }
  }

  onReady({ isContiguous }: { isContiguous: boolean }): void {
    if (this.#isClosed) return;
    // Streams and listeners from before the first connection may have missed events.
    if (!isContiguous || !this.#hasBegun) this.#resync(this.#hasBegun);
    if (this.#hasBegun) this.#streamCounts.healed += this.#local.attached;
    this.#hasBegun = true;
    this.#isLive = true;
    this.#isReported = false;
    this.#live.resolve();
    this.interest?.handleReady();
  }

  onEvents(events: string): void {
    if (this.#isClosed) return;
    const texts: string[] = [];
    let firstError: ListenError | undefined;
    for (const line of events.split('\n')) {
      if (isOccurrence(line)) {
        this.#events?.receive(line);
        continue;
      }
      if (isSignal(line)) {
        // What the broker has kept since the last loss is of processes that may be gone.
        if (this.#isLive) this.interest?.receive(line);
        continue;
      }
      try {
        texts.push(normalized(line));
      } catch (error) {
        firstError ??= error as ListenError;
      }
    }
    try {
      this.#local.deliver(texts);
    } catch (error) {
      // The broker's client cannot handle a trap of the core. Listeners are attached again.
      this.#onError(error as Error);
    }
    if (firstError !== undefined) this.#reportDropped(firstError);
  }

  onGap(): void {
    if (this.#isClosed) return;
    this.#streamCounts.gaps += this.#local.streams;
    this.#resync(true);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #expectInterest(): BrokerInterest {
    this.#follow();
    if (this.interest !== undefined) return this.interest;
    throw new ListenError('not-supported', 'the bus was created without the option wanted');
  }

  async #publish(events: ServerEvent[]): Promise<void> {
    const texts = events.map(eventText);
    if (texts.length === 0) return;
    await this.#send((timeout) => this.#broker.publish(texts.join('\n'), timeout));
  }

  async #emit(...event: Parameters<EventPublisher['emit']>): Promise<EventReceipt> {
    if (this.#events !== undefined) return this.#events.emit(event, (work) => this.#send(work));
    throw new ListenError('events-unavailable', 'this bus keeps no occurrences of events');
  }

  async #send<T>(work: (timeout: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new ListenError('bus-unavailable', 'the bus is closed');
    try {
      const sent = work(AbortSignal.timeout(PUBLISH_MS));
      return await withTimeout(
        PUBLISH_MS,
        sent,
        () => new Error('the broker did not confirm in time'),
      );
    } catch (cause) {
      throw new ListenError('bus-unavailable', 'the bus did not accept the event', { cause });
    }
  }

  #follow(): void {
    if (this.#isFollowing || this.#isClosed) return;
    this.#isFollowing = true;
    this.#events?.follow();
    const { signal } = this.#closing;
    void keepTrying(
      () => this.#broker.follow(this, signal),
      signal,
      (cause) => this.#lose(cause),
    );
    this.interest?.follow(signal);
  }

  #lose(cause: unknown): void {
    if (this.#isLive) {
      this.#isLive = false;
      this.#live = deferred();
      this.#counts.outages += 1;
      this.#streamCounts.outages += this.#local.attached;
    }
    if (this.#isReported) return;
    this.#isReported = true;
    this.#onError(new ListenError('bus-lost', 'the broker of the bus is unavailable', { cause }));
  }

  #resync(isCounted: boolean): void {
    if (isCounted) {
      this.#counts.gaps += 1;
      this.#streamCounts.resyncs += this.#local.streams;
      if (this.#listeners.size > 0)
        this.#onError(new ListenError('bus-lost', 'listeners may have missed events'));
    }
    this.#local.gap();
  }

  #reportDropped(firstError: ListenError): void {
    this.#counts.dropped += 1;
    const message = `a message of the bus is not an event: ${firstError.code}`;
    this.#onError(new ListenError('bus-frame-dropped', message, { cause: firstError }));
  }
}

/** Milliseconds within which a broker must confirm a publish. */
const PUBLISH_MS = 5_000;
