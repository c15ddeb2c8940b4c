import { ListenError } from '../../model/error.js';
import type { ServerEvent } from '../../model/event.js';
import { LISTS } from '../../model/filter.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { PerInstance } from '../../wasm/per-instance.js';
import {
  type Bus,
  type BusOutput,
  type Delivery,
  eventsIn,
  FixedText,
  textOf,
} from '../../wasm/server/bindings.js';
import { serverGuard } from '../../wasm/server/guard.js';
import { expectLoaded } from '../../wasm/server/load.js';
import type {
  AttachableBus,
  AttachmentListener,
  BusConnection,
  FanoutSink,
} from '../attachable-bus.js';
import { CoreSessions } from '../core-sessions.js';
import { eventText } from '../event-text.js';
import {
  type EmitOptions,
  type EventLogMaker,
  type EventPublisher,
  type EventReceipt,
  type EventSource,
  type EventStore,
  occurrenceText,
} from '../events.js';
import { type RetentionOptions, retentionOf } from '../retention.js';
import type { WantedBus } from '../wanted/interest.js';
import { ProcessInterest, type SessionTopics } from '../wanted/process-interest.js';
import type { Topic } from '../wanted/topic.js';
import { wantedChange } from '../wanted/wanted-change.js';
import { type BusInstance, newInstance } from './instance.js';
import type { InMemoryBusOptions } from './options.js';
import { OrderedQueue } from './ordered-queue.js';
import { MemorySessionTable } from './session-table.js';
import { type DeliverMaker, MemoryWebhooks } from './webhooks.js';

/** A bus within one process or isolate. Events reach only the streams attached to this object. */
export class InMemoryBus implements AttachableBus, EventPublisher, WantedBus {
  /**
   * Sessions of clients of earlier revisions, in this process only.
   *
   * @internal
   */
  readonly sessions: CoreSessions;
  /**
   * The log of occurrences of MCP Events; undefined if the bus keeps none.
   *
   * @internal
   */
  readonly events: EventSource | undefined;
  /** @internal */
  readonly interest: ProcessInterest | undefined;
  /** @internal */
  readonly sessionTopics: SessionTopics = {
    wants: (topic) => this.#bus.wants(topic),
    change: () => wantedChange(this.#bus),
  };
  readonly #rows = new MemorySessionTable();
  readonly #retention: RetentionOptions;
  readonly #sinks = new Set<FanoutSink>();
  readonly #onError: (error: Error) => void;
  readonly #openEvents: EventLogMaker | undefined;
  readonly #unsent = new OrderedQueue<Unsent>((batch) => this.#sendBatch(batch));
  readonly #webhooks: MemoryWebhooks | undefined;
  #created: PerInstance<BusInstance> | undefined;
  #hasEnded = false;

  /**
   * @throws ListenError `invalid-options`; `not-loaded` if `mcp-listen/slim` was given no module.
   *
   * @example
   * ```ts
   * const bus = new InMemoryBus({ logEvents: 1_000 });
   * const server = createListenHandler(handler, { bus });
   * ```
   */
  constructor({ events, onError = report, wanted, ...retention }: InMemoryBusOptions = {}) {
    expectLoaded();
    this.#onError = safeOnError(onError);
    this.#retention = retentionOf(retention);
    this.#openEvents = events;
    this.#webhooks = events?.deliver && this.#webhooksOf(events.deliver);
    this.events = events && {
      modes: ['poll', 'push'],
      isLocal: true,
      page: async (query) => this.#page(query),
      ...(this.#webhooks !== undefined && { webhooks: this.#webhooks }),
    };
    this.interest =
      wanted &&
      new ProcessInterest({
        ...{ onError, wanted, sessions: this.sessionTopics },
        context: { bus: undefined, publish: (event) => this.publish(event) },
      });
    this.sessions = new CoreSessions({
      ...{ isShared: false, rows: this.#rows },
      core: () => this.#bus,
      now: () => performance.now(),
      retainEvents: () => this.retainEvents(),
      flush: () => this.#flush(),
    });
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  publishAll(events: ServerEvent[]): Promise<void> {
    const published = this.#deliverAll(events);
    published.catch(this.#onError);
    return published;
  }

  emit(name: string, data: Record<string, unknown>, options?: EmitOptions): Promise<EventReceipt> {
    const published = this.#emit(occurrenceText(name, data, options));
    published.catch(this.#onError);
    return published;
  }

  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    let isOver = false;
    const emit = (event: ServerEvent): void => {
      if (!isOver) listener(event as Known);
    };
    const attachment: AttachmentListener = {
      onFrame: (frame) => {
        for (const event of eventsIn(frame)) emit(JSON.parse(event) as ServerEvent);
      },
      onLost: (error) => {
        if (isOver || (error as ListenError).code === 'bus-released') return;
        connection = this.#connect(textOf(FixedText.FollowEverything), attachment);
        // Changed resources cannot be determined; the lists can be named.
        for (const { kind } of LISTS) emit({ kind });
      },
    };
    let connection = this.#connect(textOf(FixedText.FollowEverything), attachment);
    return () => {
      isOver = true;
      connection.close();
    };
  }

  async isWanted(topic: Topic): Promise<boolean> {
    if (this.interest !== undefined) return this.interest.isWanted(topic);
    throw new ListenError('not-supported', 'the bus was created without the option wanted');
  }

  /** @internal */
  connect(frame: string, listener: AttachmentListener): BusConnection {
    return this.#connect(frame, listener);
  }

  /** @internal */
  subscribeAll(sink: FanoutSink): () => void {
    this.#sinks.add(sink);
    return () => void this.#sinks.delete(sink);
  }

  /** Called before a session begins: from then on the log must not miss an event. */
  protected retainEvents(): void {}

  /** Number of attached streams and listeners. */
  get attached(): number {
    return this.streams + this.#bus.state().attached;
  }

  /** Called after a change of what the streams of sessions subscribe to. */
  protected sessionsChanged(): void {
    this.interest?.sweepSoon();
  }

  /** Number of streams that sinks feed. */
  protected get streams(): number {
    return [...this.#sinks].reduce((sum, { streams }) => sum + streams, 0);
  }

  /**
   * Delivers events, as the core writes them, to all streams and listeners. What a listener
   * publishes meanwhile comes after what it was called with.
   */
  protected deliver(texts: string[]): void {
    for (let first = 0; first < texts.length; first += BATCH)
      this.#unsent.add(this.#publish(texts.slice(first, first + BATCH)));
  }

  /** Handles the loss of events on their way here: missed events can no longer be determined. */
  protected gap(): void {
    this.#reset(new ListenError('bus-lost', 'events may have been missed'));
    this.#eachSink((sink) => sink.gap());
  }

  /** Ends streams without a result, because no more events follow. */
  protected end(): void {
    this.#hasEnded = true;
    this.#reset(busClosed());
    this.#eachSink((sink) => sink.release());
  }

  /** Created at its first use: Workers have no random values while their modules are evaluated. */
  get #instance(): PerInstance<BusInstance> {
    this.#created ??= new PerInstance(
      () => newInstance(this.#retention, this.#rows),
      serverGuard,
      // The core does not have this bus any more, so missed events cannot be determined.
      (former) => this.#lose(former, new ListenError('bus-lost', 'the core was reset')),
    );
    return this.#created;
  }

  get #bus(): Bus {
    return this.#instance.value.core;
  }

  async #emit(text: string): Promise<EventReceipt> {
    const store = this.#store;
    const draft = store.draft(text);
    const { cue, name } = draft;
    const next = this.#instance.value.log.position + 1;
    try {
      const { eventId, position } = store.append(draft, next, Date.now());
      return { eventId, position };
    } finally {
      draft.free();
      // If the core has trapped, there may be a row: its position must not be used again.
      this.deliver([cue]);
      this.#webhooks?.wake(name);
    }
  }

  #page(query: string): string {
    return this.#store.page(query, this.#instance.value.log.position, Date.now());
  }

  #webhooksOf(deliver: DeliverMaker): MemoryWebhooks {
    return new MemoryWebhooks(deliver, {
      end: () => {
        const { epoch, position } = this.#instance.value.log;
        return { epoch, head: position };
      },
      page: (query) => this.#page(query),
    });
  }

  /** The log of occurrences, whose rows outlive its core. It is empty after the bus was reset. */
  get #store(): EventStore {
    const instance = this.#instance.value;
    const { eventRows, log } = instance;
    instance.occurrences ??= this.#openEvents?.open(eventRows, log.epoch, () => {
      instance.occurrences = undefined;
    });
    if (instance.occurrences !== undefined) return instance.occurrences;
    throw new ListenError('events-unavailable', 'this bus keeps no occurrences of events');
  }

  async #deliverAll(events: ServerEvent[]): Promise<void> {
    this.deliver(events.map(eventText));
    for (const event of events)
      if (event.kind === 'disconnect') this.#webhooks?.disconnect(event.principal);
  }

  #eachSink(action: (sink: FanoutSink) => void): void {
    for (const sink of [...this.#sinks]) this.#guarded(() => action(sink));
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#onError(error as Error);
    }
  }

  /** Begins a new epoch, so no stream resumes from its previous position. */
  #reset(reason: ListenError): void {
    this.#lose(this.#instance.renew(), reason);
  }

  /** Notifies all listeners that the bus was lost. */
  #lose({ listeners }: BusInstance, reason: ListenError): void {
    const lost = [...listeners.values()];
    // What was published before is not sent any more.
    listeners.clear();
    for (const listener of lost) this.#guarded(() => listener.onLost(reason));
  }

  /** Publishes a batch. Returns what to send. */
  #publish(texts: string[]): Unsent {
    const lines = texts.join('\n');
    const instance = this.#instance.value;
    const deliveries = instance.core.publish(lines, Date.now()) ?? [];
    for (const text of texts) instance.log.append(text);
    return { deliveries, instance, lines };
  }

  #sendBatch({ deliveries, instance, lines }: Unsent): void {
    for (const { edges, text } of deliveries)
      for (const edge of edges) this.#send(instance, edge, text);
    this.#eachSink((sink) => sink.publish(lines));
  }

  #send({ listeners }: BusInstance, edge: number, frame: string): void {
    this.#guarded(() => listeners.get(edge)?.onFrame(frame));
  }

  #connect(frame: string, listener: AttachmentListener): BusConnection {
    if (this.#hasEnded) {
      listener.onLost(busClosed());
      return { send: () => {}, close: () => true };
    }
    const instance = this.#instance.value;
    const edge = instance.core.connect(undefined, undefined, 0);
    instance.listeners.set(edge, listener);
    // After a reset, edge numbers are assigned again to other connections.
    const ifCurrent = (action: () => void): void => {
      if (this.#instance.value === instance) action();
    };
    this.#handleFrame(edge, frame);
    return {
      send: (frame) => ifCurrent(() => this.#handleFrame(edge, frame)),
      close: () => {
        ifCurrent(() => this.#leave(edge));
        return true;
      },
    };
  }

  #handleFrame(edge: number, frame: string): void {
    const instance = this.#instance.value;
    const received = instance.core.receive(edge, frame, performance.now());
    if (received.kind === 'released') this.#release(edge);
    if (received.kind !== 'followed') return;
    this.#flush();
    for (const reply of received.frames) this.#send(instance, edge, reply);
  }

  /** Performs the outputs of the core after a change of a session. */
  #flush(): void {
    this.sessionsChanged();
    const instance = this.#instance.value;
    const next = (): BusOutput | undefined => instance.core.output(0, performance.now());
    for (let output = next(); output !== undefined; output = next()) {
      if (output.kind === 'send')
        for (const edge of output.edges) this.#send(instance, edge, output.text);
      else if (output.kind === 'close') this.#release(output.edge, output.reason === 'lost');
    }
  }

  /**
   * Releases an edge. `reattaches`: the stream of its session is attached on another connection
   * too.
   */
  #release(edge: number, reattaches = false): void {
    const listener = this.#instance.value.listeners.get(edge);
    this.#leave(edge);
    const reason = reattaches
      ? new ListenError('bus-lost', 'the stream is attached on another connection')
      : new ListenError(
          'bus-released',
          'the session has ended, or a newer stream has replaced this one',
        );
    this.#guarded(() => listener?.onLost(reason));
  }

  #leave(edge: number): void {
    const { core, listeners } = this.#instance.value;
    if (!listeners.delete(edge)) return;
    core.disconnect(edge, performance.now());
    this.sessionsChanged();
  }
}

function busClosed(): ListenError {
  return new ListenError('bus-released', 'the bus is closed');
}

/** A batch that was published and is not sent yet. */
interface Unsent {
  deliveries: Delivery[];
  /** The events, each a line of JSON text. */
  lines: string;
  /** The instance of the bus in which they were published. */
  instance: BusInstance;
}

/**
 * Number of events that the core and a sink receive in one call. It bounds the memory that they
 * take there, and the bytes that each stream has to write for them.
 */
const BATCH = 32;
