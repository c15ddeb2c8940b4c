import { ListenError } from '../../model/error.js';
import type { ServerEvent } from '../../model/event.js';
import { report } from '../../observe/on-error.js';
import { Bus, type BusOutput, eventsIn, FixedText, textOf } from '../../wasm/server/bindings.js';
import { generation } from '../../wasm/server/guard.js';
import { expectLoaded } from '../../wasm/server/load.js';
import type {
  AttachableBus,
  AttachmentListener,
  BusConnection,
  FanoutSink,
} from '../attachable-bus.js';
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
import type { RetentionOptions } from '../retention.js';
import { MemoryEventRows } from './memory-event-rows.js';
import { RecentEvents } from './memory-log.js';
import { MemorySessionTable } from './memory-session-table.js';
import { MemorySessions } from './memory-sessions.js';

/** Options of {@link InMemoryBus}. */
export interface InMemoryBusOptions extends RetentionOptions {
  /**
   * Called with exceptions of listeners, and with the error of each publish that fails, awaited or
   * not.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Opens the log of occurrences of MCP Events: `eventLog()` of `mcp-listen/events`. Without it the
   * bus carries changes only.
   *
   * @default undefined
   */
  events?: EventLogMaker;
}

/** A bus within one process or isolate. Events reach only the streams attached to this object. */
export class InMemoryBus implements AttachableBus, EventPublisher {
  /**
   * Sessions of clients of earlier revisions, in this process only.
   *
   * @internal
   */
  readonly sessions: MemorySessions;
  /**
   * The log of occurrences of MCP Events; undefined if the bus keeps none.
   *
   * @internal
   */
  readonly events: EventSource | undefined;
  readonly #rows = new MemorySessionTable();
  #log: RecentEvents;
  #core: Bus;
  #life = generation();
  #links = new Map<number, AttachmentListener>();
  readonly #feeds = new Set<FanoutSink>();
  readonly #onError: (error: Error) => void;
  readonly #retention: RetentionOptions;
  readonly #openEvents: EventLogMaker | undefined;
  #occurrences: EventStore | undefined;

  /**
   * @throws ListenError `invalid-options`; `not-loaded` if `mcp-listen/slim` was given no module.
   *
   * @example
   * ```ts
   * const bus = new InMemoryBus({ logEvents: 1_000 });
   * const server = createListenHandler(handler, { bus });
   * ```
   */
  constructor({ events, onError = report, ...retention }: InMemoryBusOptions = {}) {
    expectLoaded();
    this.#onError = onError;
    this.#retention = retention;
    this.#log = new RecentEvents(retention);
    this.#openEvents = events;
    this.events = events && {
      modes: ['poll', 'push'],
      page: async (question) => this.#store.page(question, this.#log.position, Date.now()),
    };
    this.#core = newBus(this.#log, this.#rows);
    this.sessions = new MemorySessions(this.#rows, {
      core: () => this.#bus,
      heed: () => this.heed(),
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
    const tell = (event: ServerEvent): void => listener(event as Known);
    const link: AttachmentListener = {
      receive: (frame) => {
        for (const event of eventsIn(frame)) tell(JSON.parse(event) as ServerEvent);
      },
      lost: (error) => {
        if ((error as ListenError).code === 'bus-released') return;
        connection = this.#join(textOf(FixedText.FollowEverything), link);
        // Changed resources cannot be determined; the lists can be named.
        for (const event of LISTS) tell(event);
      },
    };
    let connection = this.#join(textOf(FixedText.FollowEverything), link);
    return () => {
      this.#renew();
      connection.leave();
    };
  }

  /** @internal */
  connect(frame: string, link: AttachmentListener): BusConnection {
    return this.#join(frame, link);
  }

  /** @internal */
  feed(feed: FanoutSink): () => void {
    this.#feeds.add(feed);
    return () => void this.#feeds.delete(feed);
  }

  /** Called before a session begins. From then on the log must not miss an event. */
  protected heed(): void {}

  /** Number of attached streams and listeners. */
  get attached(): number {
    return this.fed + this.#bus.state().attached;
  }

  /** Number of streams that sinks feed. */
  protected get fed(): number {
    return [...this.#feeds].reduce((fed, { streams }) => fed + streams, 0);
  }

  /** Delivers events, as the core writes them, to all streams and listeners. */
  protected deliver(texts: string[]): void {
    for (const text of texts) this.#publish(text);
    for (let first = 0; first < texts.length; first += BATCH) {
      const batch = texts.slice(first, first + BATCH).join('\n');
      this.#eachFeed((feed) => feed.publish(batch));
    }
  }

  /** Handles the loss of events on their way here: missed events can no longer be determined. */
  protected gap(): void {
    this.#beginAnew(new ListenError('bus-lost', 'events may have been missed'));
    this.#eachFeed((feed) => feed.gap());
  }

  /** Ends streams without a result, because no more events follow. */
  protected end(): void {
    this.#beginAnew(new ListenError('bus-released', 'the bus is closed'));
    this.#eachFeed((feed) => feed.release());
  }

  get #bus(): Bus {
    this.#renew();
    return this.#core;
  }

  /**
   * A new instance of the core does not have this bus, so missed events can no longer be
   * determined.
   */
  #renew(): void {
    if (this.#life !== generation())
      this.#beginAnew(new ListenError('bus-lost', 'the core has begun anew'));
  }

  async #emit(text: string): Promise<EventReceipt> {
    const store = this.#store;
    const draft = store.draft(text);
    const { eventId, position } = store.append(draft, this.#log.position + 1, Date.now());
    this.deliver([draft.cue]);
    draft.free();
    return { eventId, position };
  }

  /** The log of occurrences; it is empty after the bus was reset. */
  get #store(): EventStore {
    this.#renew();
    const reset = (): void => {
      this.#occurrences = undefined;
    };
    this.#occurrences ??= this.#openEvents?.(new MemoryEventRows(), this.#log.epoch, reset);
    if (this.#occurrences !== undefined) return this.#occurrences;
    throw new ListenError('events-unavailable', 'this bus keeps no occurrences of events');
  }

  async #deliverAll(events: ServerEvent[]): Promise<void> {
    this.deliver(events.map(eventText));
  }

  #eachFeed(action: (feed: FanoutSink) => void): void {
    for (const feed of [...this.#feeds]) this.#guarded(() => action(feed));
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#onError(error as Error);
    }
  }

  /** Replaces the log by one with a new epoch, so no stream resumes from its former position. */
  #beginAnew(why: ListenError): void {
    const links = this.#links;
    this.#links = new Map();
    this.#log = new RecentEvents(this.#retention);
    this.#occurrences = undefined;
    this.#core = newBus(this.#log, this.#rows);
    this.#life = generation();
    for (const link of links.values()) this.#guarded(() => link.lost(why));
  }

  #publish(text: string): void {
    const { deliveries } = this.#bus.publish([text], Date.now());
    this.#log.append(text);
    for (const { edges, text: frame } of deliveries) {
      for (const edge of edges) this.#send(edge, frame);
    }
  }

  #send(edge: number, frame: string): void {
    this.#guarded(() => this.#links.get(edge)?.receive(frame));
  }

  #join(frame: string, link: AttachmentListener): BusConnection {
    const edge = this.#bus.connect(undefined, undefined, 0);
    const links = this.#links.set(edge, link);
    // After a reset, edge numbers are assigned again to other connections.
    const ifHeld = (action: () => void): void => {
      this.#renew();
      if (links === this.#links) action();
    };
    this.#take(edge, frame);
    return {
      send: (frame) => ifHeld(() => this.#take(edge, frame)),
      leave: () => {
        ifHeld(() => this.#leave(edge));
        return true;
      },
    };
  }

  #take(edge: number, frame: string): void {
    const received = this.#bus.receive(edge, frame, performance.now());
    if (received.kind === 'released') this.#release(edge);
    if (received.kind !== 'followed') return;
    this.#flush();
    for (const answer of received.frames) this.#send(edge, answer);
  }

  /** Performs the outputs of the core after a change of a session. */
  #flush(): void {
    const bus = this.#bus;
    const next = (): BusOutput | undefined => bus.output(0, performance.now());
    for (let output = next(); output !== undefined; output = next()) {
      if (output.kind === 'send') for (const edge of output.edges) this.#send(edge, output.text);
      else if (output.kind === 'close') this.#release(output.edge, output.parting === 'lost');
    }
  }

  /**
   * Releases an edge. `comesBack`: the stream of its session is attached on another connection too.
   */
  #release(edge: number, comesBack = false): void {
    const link = this.#links.get(edge);
    this.#leave(edge);
    const why = comesBack
      ? new ListenError('bus-lost', 'the stream is attached on another connection')
      : new ListenError(
          'bus-released',
          'the session is over, or a newer stream of it has taken over',
        );
    this.#guarded(() => link?.lost(why));
  }

  #leave(edge: number): void {
    if (this.#links.delete(edge)) this.#bus.disconnect(edge, performance.now());
  }
}

/** Creates a core bus whose sessions have no streams: those of a former bus must attach again. */
function newBus(log: RecentEvents, rows: MemorySessionTable): Bus {
  const bus = new Bus(log, rows);
  bus.restored(performance.now());
  return bus;
}

/** The events that name neither a resource nor a task. */
const LISTS: ServerEvent[] = [
  { kind: 'tools_list_changed' },
  { kind: 'prompts_list_changed' },
  { kind: 'resources_list_changed' },
];
/**
 * Number of events that a sink receives at once. It bounds the bytes that each stream has to write
 * for them.
 */
const BATCH = 32;
