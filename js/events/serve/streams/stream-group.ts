import type { EventSource } from '../../../bus/events.js';
import { calling, ListenError } from '../../../model/error.js';
import { eachWrite } from '../../../streams/index.js';
import {
  type EventClass,
  type EventExchange,
  EventStreams,
} from '../../../wasm/events/bindings.js';
import { eventsGuard } from '../../../wasm/events/guard.js';
import type { EventTypeTable } from '../../define/event-type-table.js';
import type { EventStream, EventStreamGroup } from './event-stream.js';

/** What a group of streams needs. */
export interface StreamGroupOptions {
  log: EventSource;
  types: EventTypeTable;
  onError: (error: Error) => void;
}

/**
 * The streams of events that one connection to the bus feeds. The log is read once for all of them
 * that are at the same position.
 */
export class StreamGroup implements EventStreamGroup {
  readonly #options: StreamGroupOptions;
  readonly #core = new EventStreams();
  readonly #streams: (EventStream | undefined)[] = [];
  /** When the reading of each name for all streams began. */
  readonly #reads = new Map<string, Read>();
  /** The names that are cued in this turn. */
  readonly #cued = new Set<string>();
  /** When each name was last read for heartbeats. */
  readonly #refreshedAt = new Map<string, number>();
  readonly #generation = eventsGuard.generation;
  /** The number of this group among the readers of listen streams. */
  readonly #reader = nextReader();
  #size = 0;
  #isOver = false;
  #leaveCore = (): void => {};

  constructor(options: StreamGroupOptions) {
    this.#options = options;
  }

  /** Whether streams can begin in it: it has had one all the time, and its core has not trapped. */
  get isCurrent(): boolean {
    return !this.#isOver && this.#generation === eventsGuard.generation;
  }

  /**
   * Begins a stream: reads the log where it begins, and writes that.
   *
   * @throws any error of the bus.
   */
  async begin(exchange: EventExchange, stream: EventStream): Promise<void> {
    stream.id = calling(() => this.#core.open(exchange));
    this.#enter(stream);
    const page = await this.#options.log.page(this.#core.questionOf(stream.id) ?? '');
    this.#expect(stream);
    const verdicts = await this.#verdicts(stream, page);
    this.#expect(stream);
    const bytes = this.#core.begin(stream.id, page, verdicts);
    if (bytes !== undefined) stream.write(bytes);
    this.#settle(stream);
    this.#read(stream.name);
  }

  /** Handles a cue: the log may have something new. Each stream of a name gets it in one turn. */
  cue(name: string): void {
    if (this.#cued.has(name)) return;
    this.#cued.add(name);
    queueMicrotask(() => {
      this.#cued.delete(name);
      try {
        this.#handleCue(name);
      } catch (error) {
        this.#options.onError(error as Error);
      }
    });
  }

  #handleCue(name: string): void {
    if (!this.isCurrent) return;
    const read = this.#reads.get(name);
    if (read?.isCued === true && !isLate(read)) return;
    if (read !== undefined) read.isCued = true;
    this.#core.cued(name);
    if (read === undefined || isLate(read)) this.#read(name);
  }

  /** Writes a heartbeat. */
  beat(stream: EventStream): void {
    if (!this.#holds(stream)) return;
    const isFresh = this.#options.log.isLocal !== true || this.#isFresh(stream.name);
    if (!isFresh) this.#core.cued(stream.name);
    this.#read(stream.name);
    const reading = isFresh ? undefined : this.#reads.get(stream.name)?.isDone;
    if (reading === undefined) this.#writeBeat(stream);
    else reading.then(() => this.#writeBeat(stream)).catch(this.#options.onError);
  }

  /** Reads pages for a stream that is behind, while its body has room. */
  catchUp(stream: EventStream): void {
    if (stream.isReading || !this.#holds(stream)) return;
    stream.isReading = true;
    stream.listen?.inContext(() => {
      this.#caughtUp(stream).catch(this.#options.onError);
    });
  }

  /** Handles a change of the groups of a stream's caller. */
  regroup(stream: EventStream, groups: string[]): void {
    if (this.#holds(stream)) this.#core.regroup(stream.id, JSON.stringify(groups));
  }

  /** Removes a stream. Returns its last bytes, if its caller may receive nothing any more. */
  remove(stream: EventStream, isDenied: boolean): Uint8Array | undefined {
    if (!this.#holds(stream)) return undefined;
    const last = isDenied ? this.#core.terminate(stream.id, FORBIDDEN) : undefined;
    this.#core.remove(stream.id);
    this.#streams[stream.id] = undefined;
    stream.group = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#end();
    return last;
  }

  /** Frees the core after the last stream. */
  #end(): void {
    this.#isOver = true;
    this.#leaveCore();
    this.#core.free();
  }

  #enter(stream: EventStream): void {
    if (this.#size === 0) this.#leaveCore = eventsGuard.onReset(() => this.#trapped());
    this.#size += 1;
    this.#streams[stream.id] = stream;
    stream.group = this;
    // One cue for all of them: the log is read once.
    stream.listen?.readBy(this.#reader);
  }

  /** Ends the streams of a core that has trapped, without a result. */
  #trapped(): void {
    const streams = this.#streams.splice(0);
    this.#isOver = true;
    this.#leaveCore();
    for (const stream of streams) {
      if (stream === undefined) continue;
      stream.group = undefined;
      stream.listen?.inContext(() => stream.listen?.abort());
    }
  }

  #writeBeat(stream: EventStream): void {
    const bytes = this.#holds(stream) ? this.#core.heartbeat(stream.id) : undefined;
    if (bytes !== undefined) stream.write(bytes);
  }

  /**
   * Whether a log in this process was read for heartbeats in the last second. It is read so that
   * cursors advance past what is not for their streams. A log elsewhere would have to stay awake
   * for that.
   */
  #isFresh(name: string): boolean {
    const now = performance.now();
    const isFresh = now - (this.#refreshedAt.get(name) ?? Number.NEGATIVE_INFINITY) < REFRESH_MS;
    if (!isFresh) this.#refreshedAt.set(name, now);
    return isFresh;
  }

  /** Reads the log for all streams of a name, unless that is under way. */
  #read(name: string): void {
    const former = this.#reads.get(name);
    if (former !== undefined && !isLate(former)) return;
    // The request that read it may be gone.
    if (former !== undefined) this.#core.failed(name);
    const question = this.#core.question(name);
    if (question === undefined) {
      this.#reads.delete(name);
      return;
    }
    const read: Read = { at: performance.now(), isCued: false, isDone: undefined };
    this.#reads.set(name, read);
    read.isDone = this.#spread(name, question, read).catch((error: unknown) =>
      this.#failed(name, read, error),
    );
  }

  async #spread(name: string, question: string, read: Read): Promise<void> {
    const page = await this.#options.log.page(question);
    if (!this.#awaits(name, read)) return;
    const judged = await this.#judged(name, page);
    if (!this.#awaits(name, read)) return;
    this.#reads.delete(name);
    let fan = this.#core.page(name, page, judged);
    while (fan !== undefined) {
      const missed = this.#write(fan);
      if (missed.length > 0) this.#core.missed(Uint32Array.from(missed));
      fan = this.#core.rest();
    }
    this.#read(name);
  }

  #failed(name: string, read: Read, error: unknown): void {
    this.#options.onError(error as Error);
    if (!this.#awaits(name, read)) return;
    this.#reads.delete(name);
    this.#core.failed(name);
  }

  /** Writes a batch. Returns the streams that had no room, or whose callers may not receive now. */
  #write(fan: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(fan, (id, chunks, index) => {
      const stream = this.#streams[id];
      if (stream?.hasRoom === true && stream.mayReceive) stream.write(chunks.at(index));
      else if (stream !== undefined) {
        stream.isBehind = true;
        stream.awaitRoom();
        missed.push(id);
      }
    });
    return missed;
  }

  async #caughtUp(stream: EventStream): Promise<void> {
    try {
      await this.#readOwn(stream);
    } finally {
      // At once: a renewed authorization may be reported in this very turn.
      stream.isReading = false;
    }
    if (!this.#holds(stream)) return;
    this.#settle(stream);
    this.#read(stream.name);
  }

  async #readOwn(stream: EventStream): Promise<void> {
    while (stream.hasRoom && this.#holds(stream)) {
      const question = this.#core.questionOf(stream.id);
      if (question === undefined || !stream.mayReceive) return;
      const page = await this.#options.log.page(question);
      if (!this.#holds(stream)) return;
      const verdicts = await this.#verdicts(stream, page);
      if (!this.#holds(stream)) return;
      const bytes = this.#core.own(stream.id, page, verdicts);
      if (bytes !== undefined) stream.write(bytes);
    }
  }

  /** Whether a reading is the one that is awaited now. */
  #awaits(name: string, read: Read): boolean {
    return this.isCurrent && this.#reads.get(name) === read;
  }

  /** @throws ListenError `bus-lost` if the stream has ended meanwhile. */
  #expect(stream: EventStream): void {
    if (!this.#holds(stream)) throw new ListenError('bus-lost', 'the stream has ended');
  }

  /** Finds out whether a stream is behind. */
  #settle(stream: EventStream): void {
    stream.isBehind = this.#core.questionOf(stream.id) !== undefined;
    if (stream.isBehind) stream.awaitRoom();
  }

  /** Returns the verdicts of the server for one stream, if it decides. */
  async #verdicts({ id, name }: EventStream, page: string): Promise<string | undefined> {
    const args = this.#core.argumentsOf(id);
    return args === undefined ? undefined : this.#options.types.verdicts(name, args, page);
  }

  /** Returns the verdicts of the server for the classes of a name, if it decides. */
  async #judged(name: string, page: string): Promise<string | undefined> {
    const classes = this.#core.classes(name) as EventClass[];
    if (classes.length === 0) return undefined;
    const judged = classes.map(async ({ arguments: args, class: number }) => {
      const verdicts = await this.#options.types.verdicts(name, args, page);
      return `{"class":${number},"verdicts":${verdicts}}`;
    });
    return `[${(await Promise.all(judged)).join(',')}]`;
  }

  #holds(stream: EventStream): boolean {
    return this.isCurrent && this.#streams[stream.id] === stream;
  }
}

/** Returns the number of the next group. */
function nextReader(): number {
  readers += 1;
  return readers;
}

let readers = 0;

/** The reading of a page for all streams. */
interface Read {
  /** When it began, by `performance.now`. */
  at: number;
  /** Whether something was cued since. */
  isCued: boolean;
  /** Resolves once the page was written, or could not be read. */
  isDone: Promise<void> | undefined;
}

/** Whether a page has been awaited for so long that another request has to read it. */
function isLate({ at }: Read): boolean {
  return performance.now() - at > LATE_MS;
}

const LATE_MS = 1_000;
/** Milliseconds between two reads for heartbeats. */
const REFRESH_MS = 1_000;
const FORBIDDEN = JSON.stringify({ forbidden: {} });
