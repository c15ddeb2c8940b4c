import type { EventSource } from '../../../bus/events.js';
import { calling, ListenError } from '../../../model/error.js';
import {
  eachWrite,
  FanoutBodies,
  OwnBodies,
  type ResponseBody,
  type StreamBodies,
} from '../../../streams/index.js';
import { withTimeout } from '../../../timing/with-timeout.js';
import {
  type EventClass,
  type EventExchange,
  EventStreams,
} from '../../../wasm/events/bindings.js';
import { eventsGuard } from '../../../wasm/events/guard.js';
import type { EventTypeTable } from '../../define/event-type-table.js';
import type { EventStream, EventStreamGroup, OwnPage } from './event-stream.js';
import { LogReader } from './log-reader.js';
import { nextReader } from './reader-number.js';

/** What a group of streams needs. */
export interface StreamGroupOptions {
  log: EventSource;
  types: EventTypeTable;
  /** Milliseconds that `match` may take for an occurrence; 0 disables this. */
  matchMs: number;
  /** Whether callers are authorized again while their streams are open. */
  isReauthorized: boolean;
  /** Whether each stream has its own request context, which alone may write to its body. */
  hasOwnContexts: boolean;
  onError: (error: Error) => void;
}

/**
 * The streams of events that one connection to the bus feeds. The log is read once for all of them
 * that are at the same position.
 */
export class StreamGroup implements EventStreamGroup {
  readonly bodies: StreamBodies;
  readonly #options: StreamGroupOptions;
  readonly #core = new EventStreams();
  readonly #log: LogReader;
  readonly #streams: (EventStream | undefined)[] = [];
  /** When the latest reading of each name for all streams is done. */
  readonly #readings = new Map<string, Promise<void>>();
  /** The names that are cued in this turn. */
  readonly #cued = new Set<string>();
  /** When each name was last read for heartbeats. */
  readonly #refreshedAt = new Map<string, number>();
  readonly #leaveCore = eventsGuard.onReset((error) => this.#trapped(error));
  /** The number of this group among the readers of listen streams. */
  readonly #reader = nextReader();
  #size = 0;
  #isOver = false;

  constructor(options: StreamGroupOptions) {
    this.#options = options;
    this.#log = new LogReader(options.log, options.onError);
    this.bodies = options.hasOwnContexts
      ? new OwnBodies((id, body) => this.#handleRefusedWrite(id, body))
      : new FanoutBodies();
  }

  /** Whether streams can begin in it: it has had one all the time, and its core has not trapped. */
  get isCurrent(): boolean {
    return !this.#isOver;
  }

  /**
   * Begins a stream: reads the log where it begins, and writes that.
   *
   * @throws any error of the bus.
   */
  async begin(exchange: EventExchange, stream: EventStream): Promise<void> {
    this.#open(exchange, stream);
    const first = await this.#firstPage(stream);
    if (first === undefined || !this.#holds(stream))
      throw new ListenError('bus-lost', 'the stream has ended');
    stream.first = this.#core.begin(stream.id, first.page, first.results);
    this.#settle(stream);
    this.#read(stream.name);
  }

  /** Handles a cue: the log may have something new. Each stream of a name gets it in one turn. */
  cue(name: string): void {
    if (this.#cued.has(name)) return;
    this.#cued.add(name);
    queueMicrotask(() => {
      this.#cued.delete(name);
      this.#log.cued(name);
      try {
        this.#handleCue(name);
      } catch (error) {
        this.#options.onError(error as Error);
      }
    });
  }

  #handleCue(name: string): void {
    if (this.isCurrent && !this.#log.isWaiting(name))
      this.#beginReading(name, this.#core.cued(name, performance.now()));
  }

  /** Writes a heartbeat. */
  beat(stream: EventStream): void {
    if (!this.#holds(stream)) return;
    const isFresh = this.#isFresh(stream.name);
    if (isFresh) this.#read(stream.name);
    else this.#handleCue(stream.name);
    const reading = isFresh ? undefined : this.#readings.get(stream.name);
    if (reading === undefined) this.#writeBeat(stream);
    else reading.then(() => this.#writeBeat(stream)).catch(this.#options.onError);
  }

  /** Reads pages for a stream that is behind, while its body has room. */
  catchUp(stream: EventStream): void {
    if (stream.isReading || !this.#holds(stream) || this.#log.isWaiting(stream.name)) return;
    stream.isReading = true;
    stream.listen?.inContext(() => {
      this.#caughtUp(stream).catch((error: unknown) => this.#log.failed(stream.name, error));
    });
  }

  /**
   * Handles the groups of a stream's caller, which may have changed.
   *
   * @throws ListenError `authorizer-failed` if a group is not valid.
   */
  regroup(stream: EventStream, groups: string[]): void {
    if (!this.#holds(stream)) return;
    const isChanged = calling(() => this.#core.regroup(stream.id, JSON.stringify(groups)));
    if (isChanged) stream.groupChanges += 1;
  }

  /** Removes a stream. `isDenied`: its caller may receive nothing any more, which it writes. */
  remove(stream: EventStream, isDenied: boolean): void {
    if (!this.#holds(stream)) return;
    const last = isDenied ? this.#core.terminate(stream.id, FORBIDDEN) : undefined;
    if (last !== undefined) this.bodies.write(stream.id, last);
    this.bodies.forget(stream.id);
    this.#core.remove(stream.id);
    this.#streams[stream.id] = undefined;
    stream.group = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#end();
  }

  #open(exchange: EventExchange, stream: EventStream): void {
    try {
      stream.id = calling(() => this.#core.open(exchange));
    } catch (error) {
      if (this.#size === 0 && !this.#isOver) this.#end();
      throw error;
    }
    this.#size += 1;
    this.#streams[stream.id] = stream;
    stream.group = this;
    // One cue for all of them: the log is read once.
    stream.listen?.readBy(this.#reader);
  }

  /** Frees the core after the last stream. */
  #end(): void {
    this.#isOver = true;
    this.#leaveCore();
    this.#core.free();
  }

  /** Ends the streams of a core that has trapped, one after the other and without a result. */
  #trapped(error: Error): void {
    const streams = this.#streams.splice(0);
    this.#isOver = true;
    this.#leaveCore();
    this.#options.onError(error);
    for (const stream of streams) {
      if (stream === undefined) continue;
      stream.group = undefined;
      stream.listen?.endAfterTrap();
    }
  }

  #writeBeat(stream: EventStream): void {
    const bytes = this.#holds(stream) ? this.#core.heartbeat(stream.id) : undefined;
    if (bytes !== undefined) this.bodies.write(stream.id, bytes);
  }

  /**
   * Whether the log was lately read for heartbeats. It is read so that cursors advance past what is
   * not for their streams. A log elsewhere would have to stay awake if it was read often.
   */
  #isFresh(name: string): boolean {
    const isLocal = this.#options.log.isLocal === true;
    const now = performance.now();
    // Elsewhere, the first stream of a name has just read the log.
    const last = this.#refreshedAt.get(name) ?? (isLocal ? Number.NEGATIVE_INFINITY : now);
    const isFresh = now - last < (isLocal ? REFRESH_MS : REMOTE_REFRESH_MS);
    this.#refreshedAt.set(name, isFresh ? last : now);
    return isFresh;
  }

  /** Reads the log for all streams of a name, if that is due and not under way. */
  #read(name: string): void {
    if (!this.#log.isWaiting(name))
      this.#beginReading(name, this.#core.query(name, performance.now()));
  }

  #beginReading(name: string, query: string | undefined): void {
    if (query === undefined) return;
    const number = this.#core.reading;
    const done = this.#spread(name, number, query).catch((error: unknown) => {
      this.#log.failed(name, error);
      if (this.isCurrent) eventsGuard.ignoringTrap(() => this.#core.failed(name, number));
    });
    this.#readings.set(name, done);
  }

  async #spread(name: string, number: number, query: string): Promise<void> {
    const page = await this.#log.page(name, query);
    const classes = this.isCurrent ? this.#core.classes(name, number) : undefined;
    if (classes === undefined) return;
    const results = await this.#matchResultsByClass(name, classes, page);
    if (!this.isCurrent) return;
    let batch = this.#core.page(name, number, page, results);
    while (batch !== undefined) {
      const missed = this.#write(batch);
      if (missed.length > 0) this.#core.missed(Uint32Array.from(missed));
      batch = this.#core.rest();
    }
    for (const id of this.#core.takeLeft()) this.#leaveBehind(this.#streams[id]);
    this.#read(name);
  }

  /** Handles a stream that the page for all was not for: it reads alone. */
  #leaveBehind(stream: EventStream | undefined): void {
    if (stream === undefined) return;
    stream.isBehind = true;
    this.catchUp(stream);
  }

  /** Writes a batch. Returns the streams that had no room, or whose callers may not receive now. */
  #write(batch: Uint8Array): number[] {
    const { isReauthorized } = this.#options;
    const missed = isReauthorized ? this.#writeToPermitted(batch) : this.bodies.writeAll(batch);
    for (const id of missed) {
      const stream = this.#streams[id];
      if (stream !== undefined) stream.isBehind = true;
      this.bodies.awaitRoom(id);
    }
    return missed;
  }

  #writeToPermitted(batch: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(batch, (id, chunks, index) => {
      const stream = this.#streams[id];
      if (stream?.hasRoom === true && stream.mayReceive) this.bodies.write(id, chunks.at(index));
      else missed.push(id);
    });
    return missed;
  }

  /** Handles a refused write to a body: writes again in the request context of the stream. */
  #handleRefusedWrite(id: number, body: ResponseBody): void {
    const listen = this.#streams[id]?.listen;
    listen?.inContext(() => {
      if (!body.writeKept()) listen.abort();
    });
  }

  async #caughtUp(stream: EventStream): Promise<void> {
    let isStuck: boolean;
    try {
      isStuck = await this.#readOwn(stream);
    } finally {
      // At once: a renewed authorization may be reported in this very turn.
      stream.isReading = false;
    }
    if (!this.#holds(stream)) return;
    this.#settle(stream);
    // It may have been left behind again in the meantime.
    const isReady = stream.isBehind && stream.hasRoom && stream.mayReceive;
    if (isReady && !isStuck) this.catchUp(stream);
    this.#read(stream.name);
  }

  /**
   * Reads pages for a stream while its body has room. Resolves with true if the last one led
   * nowhere: the next heartbeat tries again.
   */
  async #readOwn(stream: EventStream): Promise<boolean> {
    while (stream.hasRoom && this.#holds(stream)) {
      if (this.#core.queryOf(stream.id) === undefined || !stream.mayReceive) return false;
      const own = await this.#ownPage(stream);
      if (own === undefined) return false;
      // The authorization may have lapsed while the page was read.
      if (!stream.mayReceive) {
        stream.unsent = own;
        return false;
      }
      // So may the groups of the caller have changed.
      if (own.groupChanges !== stream.groupChanges) continue;
      const bytes = this.#core.own(stream.id, own.page, own.results);
      if (bytes !== undefined) this.bodies.write(stream.id, bytes);
      else if (this.#core.queryOf(stream.id) === own.query) return true;
    }
    return false;
  }

  /** Returns the first page of a stream once its caller may receive it. */
  async #firstPage(stream: EventStream): Promise<OwnPage | undefined> {
    for (;;) {
      const first = await this.#ownPage(stream);
      if (first === undefined) return undefined;
      // The authorization may have lapsed while the page was matched. A page that only waited for
      // the log follows the request at once: streams must open whatever `authorizationTtlMs` is.
      if (first.results !== undefined) await stream.untilPermitted();
      if (!this.#holds(stream)) return undefined;
      if (stream.groupChanges === first.groupChanges) return first;
    }
  }

  /**
   * Returns the next page for one stream, with its match results: the one that was not sent, or one
   * that it reads. Undefined if there is none, or if the stream has ended meanwhile. If the groups
   * of its caller change, the page is read again: it lacks what the caller may receive now.
   */
  async #ownPage(stream: EventStream): Promise<OwnPage | undefined> {
    for (;;) {
      const { groupChanges, unsent } = stream;
      stream.unsent = undefined;
      const query = this.#core.queryOf(stream.id);
      if (query === undefined) return undefined;
      if (unsent?.query === query && unsent.groupChanges === groupChanges) return unsent;
      const page = await this.#log.page(stream.name, query);
      if (!this.#holds(stream)) return undefined;
      const results = await this.#matchResults(stream, page);
      if (!this.#holds(stream)) return undefined;
      if (stream.groupChanges === groupChanges) return { groupChanges, page, query, results };
    }
  }

  /** Finds out whether a stream is behind. */
  #settle(stream: EventStream): void {
    stream.isBehind = this.#core.queryOf(stream.id) !== undefined;
    if (stream.isBehind) this.bodies.awaitRoom(stream.id);
  }

  /** Returns the match results of the server for one stream, if it decides. */
  async #matchResults({ id, name }: EventStream, page: string): Promise<string | undefined> {
    const args = this.#core.argumentsOf(id);
    return args === undefined ? undefined : this.#matched(name, args, page);
  }

  /**
   * Returns the match results of the server for the classes of a name, if it decides. A class whose
   * results take long is left out, so that the streams of others do not wait for it.
   */
  async #matchResultsByClass(
    name: string,
    classes: EventClass[],
    page: string,
  ): Promise<string | undefined> {
    if (classes.length === 0) return undefined;
    const results: string[] = [];
    const matching = classes.map(async ({ arguments: args, class: number }) => {
      const matched = await this.#matched(name, args, page);
      results.push(`{"class":${number},"results":${matched}}`);
    });
    await withTimeout(SHARED_MATCH_MS, Promise.all(matching), () => LATE).catch(ignoreLate);
    return `[${results.join(',')}]`;
  }

  #matched(name: string, args: string, page: string): Promise<string> {
    const { matchMs: ms, onError, types } = this.#options;
    return types.matchResults(name, args, page, { ms, onError });
  }

  #holds(stream: EventStream): boolean {
    return this.isCurrent && this.#streams[stream.id] === stream;
  }
}

/** Throws an error again, unless it says that match results are late. */
function ignoreLate(error: unknown): void {
  if (error !== LATE) throw error;
}

const LATE = new Error('the match results of a class are late');
/**
 * Milliseconds that a page for all streams waits for the match results of a class. The streams of
 * a class without results read alone.
 */
const SHARED_MATCH_MS = 500;
/** Milliseconds between two reads for heartbeats, of a log in this process and of one elsewhere. */
const REFRESH_MS = 1_000;
const REMOTE_REFRESH_MS = 3_600_000;
const FORBIDDEN = JSON.stringify({ forbidden: {} });
