import { ListenError } from '../error.js';
import { eventText, type ServerEvent } from '../event.js';
import { MemorySessions } from '../legacy/memory-sessions.js';
import { expectLoaded } from '../load.js';
import { report } from '../report.js';
import { coreLife } from '../trap.js';
import { Bus, eventsIn, followEverything } from '../wasm.js';
import type { BusConnection, BusLink, Connected, EventFeed, ListenBus } from './bus.js';
import type { LogOptions } from './log-options.js';
import { RecentEvents } from './recent-events.js';

/** A bus within one process or isolate. Events reach only the streams that this very object holds. */
export class InMemoryBus implements ListenBus {
  /** Sessions of clients of earlier revisions, in this process only. */
  readonly sessions: MemorySessions;
  #core = newBus();
  #life = coreLife();
  #log: RecentEvents;
  #links = new Map<number, BusLink>();
  readonly #streams = new Map<string, number>();
  readonly #feeds = new Set<EventFeed>();
  readonly #onerror: (error: Error) => void;
  readonly #options: LogOptions;

  /**
   * @param onerror - told of listeners that throw and of publishes that fail, awaited or not.
   * @param options - how much is kept for streams that come back.
   * @throws ListenError `invalid-options`; `not-loaded` where `mcp-listen/slim` was given no module.
   */
  constructor(onerror: (error: Error) => void = report, options: LogOptions = {}) {
    expectLoaded();
    this.#onerror = onerror;
    this.#options = options;
    this.#log = new RecentEvents(options);
    this.sessions = new MemorySessions({
      place: () => this.place(),
      has: (id) => this.#streams.has(id),
      follow: (id) => this.#follow(id),
      end: (id) => this.#release(id, 'the session is over'),
    });
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  publishAll(events: ServerEvent[]): Promise<void> {
    const published = this.#deliverAll(events);
    published.catch(this.#onerror);
    return published;
  }

  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    const tell = (event: ServerEvent): void => listener(event as Known);
    const link: BusLink = {
      receive: (frame) => {
        for (const event of eventsIn(frame)) tell(JSON.parse(event) as ServerEvent);
      },
      lost: (error) => {
        if ((error as ListenError).code === 'bus-released') return;
        connection = this.#join(followEverything(), link);
        // Which resources changed nobody knows; the lists can be named.
        for (const event of LISTS) tell(event);
      },
    };
    let connection = this.#join(followEverything(), link);
    return () => {
      this.#renew();
      connection.leave();
    };
  }

  connect(frame: string, link: BusLink, { session }: Connected = {}): BusConnection {
    return this.#join(frame, link, session?.id);
  }

  feed(feed: EventFeed): () => void {
    this.#feeds.add(feed);
    return () => void this.#feeds.delete(feed);
  }

  /** The event id that says "everything published so far": the log misses nothing that comes after it was told. */
  protected place(): string {
    return this.#bus.place;
  }

  /** How many streams and listeners are attached. */
  get attached(): number {
    return this.fed + this.#bus.attached;
  }

  /** How many streams are fed. */
  protected get fed(): number {
    return [...this.#feeds].reduce((fed, { streams }) => fed + streams, 0);
  }

  /** Tells everybody of events, as the core writes them. */
  protected deliver(texts: string[]): void {
    for (const text of texts) this.#publish(text);
    for (let first = 0; first < texts.length; first += BATCH) {
      const batch = texts.slice(first, first + BATCH).join('\n');
      this.#eachFeed((feed) => feed.publish(batch));
    }
  }

  /** Events may have been lost on their way here: nobody can tell any more what a stream has missed. */
  protected gap(): void {
    this.#beginAnew(new ListenError('bus-lost', 'events may have been missed'));
    this.#eachFeed((feed) => feed.gap());
  }

  /** No event comes any more: streams end without a result. */
  protected end(): void {
    this.#beginAnew(new ListenError('bus-released', 'the bus is closed'));
    this.#eachFeed((feed) => feed.release());
  }

  get #bus(): Bus {
    this.#renew();
    return this.#core;
  }

  /** A core that has begun anew knows of no bus: nobody can tell any more what a stream has missed. */
  #renew(): void {
    if (this.#life !== coreLife()) this.#beginAnew(new ListenError('bus-lost', 'the core has begun anew'));
  }

  async #deliverAll(events: ServerEvent[]): Promise<void> {
    this.deliver(events.map(eventText));
  }

  #eachFeed(action: (feed: EventFeed) => void): void {
    for (const feed of [...this.#feeds]) this.#guarded(() => action(feed));
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#onerror(error as Error);
    }
  }

  /** With a log of another name nobody goes on from where they were. */
  #beginAnew(why: ListenError): void {
    const links = this.#links;
    for (const session of this.#streams.keys()) this.sessions.touch(session);
    this.#streams.clear();
    this.#links = new Map();
    this.#log = new RecentEvents(this.#options);
    this.#core = newBus();
    this.#life = coreLife();
    for (const link of links.values()) this.#guarded(() => link.lost(why));
  }

  #publish(text: string): void {
    const bus = this.#bus;
    const { deliveries } = bus.publish(text, Date.now());
    if (this.#log.append(text)) bus.trimmed(this.#log.floor);
    for (const { edges, message } of deliveries) {
      for (const edge of edges) this.#send(edge, message);
    }
  }

  #send(edge: number, frame: string): void {
    this.#guarded(() => this.#links.get(edge)?.receive(frame));
  }

  #join(frame: string, link: BusLink, session?: string): BusConnection {
    const edge = this.#bus.connect();
    const links = this.#links.set(edge, link);
    // Numbers are given out again where everything begins anew.
    const ifHeld = (action: () => void): void => {
      this.#renew();
      if (links === this.#links) action();
    };
    this.#take(edge, frame, session);
    return {
      send: (frame) => ifHeld(() => this.#take(edge, frame, session)),
      leave: () => {
        ifHeld(() => this.#leave(edge, session));
        return true;
      },
    };
  }

  #take(edge: number, frame: string, session: string | undefined): void {
    const received = this.#bus.receive(edge, frame);
    if (received.kind !== 'followed') return;
    const isEntered = session !== undefined && received.isFresh;
    if (isEntered) this.#bus.pushWatch(session, this.sessions.uris(session), this.sessions.isHeld(session));
    if (received.replayAfter !== undefined) this.#replay(edge, received.replayAfter);
    const answers = this.#bus.finish();
    if (isEntered) this.#enter(session, edge);
    for (const answer of answers) this.#send(edge, answer);
  }

  /** The stream of a session takes the place of another one. */
  #enter(session: string, edge: number): void {
    if (this.#streams.get(session) !== edge) this.#release(session, 'another stream of the session has taken over');
    this.#streams.set(session, edge);
  }

  #replay(edge: number, after: number): void {
    const bus = this.#bus;
    this.#recall();
    for (const { position, event } of this.#log.at(bus.missed(edge, after))) bus.pushEvent(position, event);
  }

  /** The log is read once, for the first stream that has missed something. */
  #recall(): void {
    if (this.#bus.recalls) return;
    for (const { position, event } of this.#log.after(this.#log.floor)) this.#bus.recall(position, event);
  }

  /** The stream of a session follows what the session watches, and whether its client is ready. */
  #follow(session: string): void {
    this.#renew();
    const edge = this.#streams.get(session);
    if (edge === undefined) return;
    const frame = this.#bus.watch(edge, this.sessions.uris(session), this.sessions.isHeld(session));
    if (frame !== undefined) this.#send(edge, frame);
  }

  #release(session: string, why: string): void {
    this.#renew();
    const edge = this.#streams.get(session);
    if (edge === undefined) return;
    const link = this.#links.get(edge);
    this.#leave(edge, session);
    link?.lost(new ListenError('bus-released', why));
  }

  #leave(edge: number, session?: string): void {
    if (!this.#links.delete(edge)) return;
    this.#bus.disconnect(edge);
    if (session === undefined || this.#streams.get(session) !== edge) return;
    this.#streams.delete(session);
    this.sessions.touch(session);
  }
}

function newBus(): Bus {
  return new Bus(crypto.randomUUID(), 0, 0);
}

/** The events that name no resource and no task. */
const LISTS: ServerEvent[] = [
  { kind: 'tools_list_changed' },
  { kind: 'prompts_list_changed' },
  { kind: 'resources_list_changed' },
];
/** Events that feeds get at once: each stream of one is written all that it hears of them, so that their sum has to be bounded. */
const BATCH = 32;
