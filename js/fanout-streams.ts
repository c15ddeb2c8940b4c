import type { EventFeed } from './bus/bus.js';
import { CommonTexts } from './common-texts.js';
import { DeadlineTimer } from './deadline-timer.js';
import { fromCore, ListenError } from './error.js';
import { FannedStream, type Planned } from './fanned-stream.js';
import type { Grant, Granted } from './grant.js';
import type { StreamEnding } from './held-stream.js';
import { type Outlet, Outlets } from './outlets.js';
import { Renewed } from './renewed.js';
import { expiry } from './times.js';
import { CALM_MS, surviving, whenTrapped } from './trap.js';
import { type Accepted, type Discovered, Fanout, Retirement, type Tally } from './wasm.js';

/** How the streams of a {@link FanoutStreams} are served. */
export interface FanoutOptions {
  /** Registers with the bus whose events they hear; the answer takes out again. */
  feed: (feed: EventFeed) => () => void;
  /** Counts what the streams go through. */
  tally: () => Tally;
  /** How long a reader may take nothing while something waits for it, in milliseconds; 0: for ever. */
  stallMs: number;
  /** Told when the core has trapped. */
  onerror: (error: Error) => void;
  /** Told of every stream that has ended. */
  onended: (stream: FannedStream, ending: StreamEnding) => void;
}

/** What a stream is opened with. */
export interface FanoutOpening {
  accepted: Accepted;
  known: Discovered;
  /** What the caller may hear, as JSON text; undefined: everything. */
  permit: string | undefined;
  /** What it hears of what is not for everybody, as JSON text. */
  scope: string;
  keepAliveMs: number;
  /** How old it may grow, in milliseconds; 0: any age. */
  maxConnectionAgeMs: number;
  /** When what names the caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
  /** How to ask again what the caller may hear; undefined: nobody has to be asked. */
  grant: Grant | undefined;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
}

/**
 * The listen streams of one server on a bus of its own process. An event goes through the core once, whatever the number of
 * streams, and what comes out is written to all that have room: while a stream has none, its cues wait collapsed in the core.
 *
 * Whatever brings the events calls {@link FanoutStreams.publish}, and {@link FanoutStreams.gap} where it may have lost some.
 */
export class FanoutStreams implements EventFeed {
  /** The bodies of the streams. */
  readonly outlets = new Outlets();
  readonly #fanout: Renewed<Fanout>;
  readonly #options: FanoutOptions;
  readonly #streams: (FannedStream | undefined)[] = [];
  readonly #memos = new CommonTexts();
  readonly #timer = new DeadlineTimer(() => this.#tick());
  #leaveBus: (() => void) | undefined;
  #leaveCore = (): void => {};
  #size = 0;
  /** The core has begun anew, and knows of no stream yet: till it does, none of their numbers means anything. */
  #isLapsed = false;
  #recalledAt = Number.NEGATIVE_INFINITY;

  constructor(options: FanoutOptions) {
    this.#fanout = new Renewed(() => new Fanout(options.tally(), options.stallMs));
    this.#options = options;
  }

  get #core(): Fanout {
    return this.#fanout.value;
  }

  /** How many streams are open. */
  get streams(): number {
    return this.#size;
  }

  /**
   * Opens a stream.
   *
   * @throws ListenError `bus-lost`, `invalid-filter`, and whatever the bus throws.
   */
  open({
    accepted,
    known,
    permit,
    scope,
    keepAliveMs,
    maxConnectionAgeMs,
    expiresAt,
    grant,
    signal,
  }: FanoutOpening): FannedStream {
    if (signal.aborted) throw new ListenError('bus-lost', 'the client is gone');
    if (this.#isLapsed) throw new ListenError('core-trapped', 'the core is just beginning anew');
    this.#enroll();
    const now = performance.now();
    const id = this.#enter(() => this.#core.open(accepted, known, permit, scope, keepAliveMs, now));
    this.#core.attached(id, now);
    const stream = new FannedStream(this, id, { expiresAt, grant, keepAliveMs });
    stream.memo = this.#memoOf(stream);
    if (maxConnectionAgeMs > 0) stream.planned = { at: now + maxConnectionAgeMs, why: Retirement.Rotated };
    this.#limit(stream);
    if (grant !== undefined) this.#core.grantFor(id, grant.ms, now);
    this.#streams[id] = stream;
    // The listener is not taken out again: the signal is its request's own, and lives no longer.
    signal.addEventListener('abort', stream);
    this.#arm();
    return stream;
  }

  /**
   * Events were published: lines of JSON text, and the moment of `performance.now`. What comes of them is written before
   * this returns.
   */
  publish(events: string, published = performance.now()): void {
    // What is told then is everything.
    if (this.#isLapsed) return;
    const now = performance.now();
    const fan = this.#core.publish(events, published, now);
    if (fan !== undefined) this.#write(fan, now);
    for (const id of this.#core.due() ?? []) this.#catchUp(this.#streams[id]);
    // Whoever has something waiting has to take it in time.
    this.#arm();
  }

  /** Events may have been lost: every stream hears of everything it honors, and one that follows tasks ends without a result. */
  gap(): void {
    if (this.#isLapsed) return;
    this.#core.gap();
    for (const stream of this.#streams) this.#catchUp(stream);
  }

  /** As `gap`, for streams that are about to close: those of callers with a name end at once, without a result. */
  lastDoubt(): void {
    if (this.#isLapsed) return;
    this.#core.lastDoubt();
    for (const stream of this.#streams) this.#catchUp(stream);
  }

  /** The bus is closed: every stream ends, without a result. */
  release(): void {
    for (const stream of this.#streams) if (stream !== undefined) this.end(stream, 'aborted');
  }

  /** There is a body: where the stream was closed before that, all that is left goes into it. */
  begun(stream: FannedStream): void {
    if (!this.#isLapsed && this.#holds(stream) && this.#core.isFrozen(stream.id)) this.flush(stream);
  }

  /** The reader of a stream has left, and there is no body any more. */
  leave(stream: FannedStream): void {
    if (!this.#holds(stream)) return;
    this.outlets.forget(stream.id);
    this.end(stream, 'left');
  }

  /** Writes to a stream what waits for it: as far as there is room, and all of it where the stream was closed. */
  flush(stream: FannedStream): void {
    if (this.#isLapsed) return;
    const now = performance.now();
    while (this.#mayWrite(stream)) {
      const bytes = this.#core.poll(stream.id, now);
      if (bytes === undefined) {
        stream.isBehind = false;
        break;
      }
      stream.hasWritten = true;
      this.outlets.write(stream.id, bytes);
    }
    if (this.#core.isEnded(stream.id)) {
      this.end(stream);
      return;
    }
    if (!this.#mayWrite(stream)) this.#core.blocked(stream.id, now);
    this.#arm();
    if (stream.grant !== undefined) this.#ask(stream, stream.grant);
  }

  /** Ends a stream gracefully. */
  close(stream: FannedStream): void {
    if (!this.#holds(stream)) return;
    stream.memo = undefined;
    if (this.#isLapsed) return;
    surviving(() => {
      this.#core.close(stream.id);
      this.#catchUp(stream);
    });
  }

  /** Ends a stream at a moment of `performance.now`, without a result, after what is pending then. */
  retire(stream: FannedStream, at: number, why: Retirement): void {
    if (!this.#holds(stream)) return;
    const planned: Planned = { at, why };
    if (stream.planned === undefined || at < stream.planned.at) stream.planned = planned;
    if (this.#isLapsed) return;
    surviving(() => {
      this.#core.retireAt(stream.id, at, why);
      this.#arm();
    });
  }

  /** Ends a stream at once, without a result. */
  abort(stream: FannedStream): void {
    if (!this.#holds(stream)) return;
    if (!this.#isLapsed) surviving(() => this.#core.abort(stream.id));
    this.end(stream);
  }

  /** Lets a stream go; without a reason, for the one that the core knows. */
  end(stream: FannedStream, ending?: StreamEnding): void {
    if (!this.#holds(stream)) return;
    const known = this.#removed(stream);
    this.#streams[stream.id] = undefined;
    this.#leave();
    this.outlets.close(stream.id);
    this.#options.onended(stream, ending ?? known ?? 'aborted');
  }

  #mayWrite({ id }: FannedStream): boolean {
    return this.outlets.hasRoom(id) || (this.outlets.isOpen(id) && this.#core.isFrozen(id));
  }

  /** What waits for somebody to say that the caller may still hear it goes on when that is said. */
  #ask(stream: FannedStream, grant: Grant): void {
    const question = this.#core.question(stream.id);
    if (question !== undefined) void grant.ask(question).then((granted) => this.#renew(stream, grant, granted));
  }

  #renew(stream: FannedStream, grant: Grant, granted: Granted | undefined): void {
    if (this.#isLapsed || !this.#holds(stream)) return;
    let wrong: string | undefined;
    surviving(() => {
      wrong = this.#core.renew(stream.id, granted?.filter, performance.now());
      if (granted !== undefined) this.#renewed(stream, granted.expiresAt);
      this.#catchUp(stream);
    });
    grant.refuse(wrong);
  }

  #renewed(stream: FannedStream, expiresAt: number | undefined): void {
    stream.expiresAt = expiresAt;
    this.#core.expireAt(stream.id, expiresAt === undefined ? undefined : expiry(expiresAt));
    if (stream.memo !== undefined) stream.memo = this.#memoOf(stream);
  }

  #memoOf({ id }: FannedStream): string | undefined {
    const memo = this.#core.memo(id);
    return memo && this.#memos.kept(memo);
  }

  /** Why the core says that a stream has ended, which it knows no longer then. */
  #removed({ id }: FannedStream): StreamEnding | undefined {
    let ending: string | undefined;
    if (!this.#isLapsed)
      surviving(() => {
        ending = this.#core.remove(id);
      });
    return ending as StreamEnding | undefined;
  }

  #limit({ expiresAt, id, planned }: FannedStream): void {
    if (planned !== undefined) this.#core.retireAt(id, planned.at, planned.why);
    if (expiresAt !== undefined) this.#core.expireAt(id, expiry(expiresAt));
  }

  /** The first stream brings the bus. */
  #enroll(): void {
    if (this.#leaveBus !== undefined) return;
    this.#leaveBus = this.#options.feed(this);
    this.#leaveCore = whenTrapped((error) => this.#trapped(error));
  }

  /** Whoever has called the core may be in the middle of many streams: they go on once it is done. */
  #trapped(error: Error): void {
    this.#options.onerror(error);
    if (this.#isLapsed) return;
    this.#isLapsed = true;
    queueMicrotask(() => this.#recall());
  }

  /** In a core that has begun anew the streams go on under other numbers, where they can, and their clients read everything again. */
  #recall(): void {
    const now = performance.now();
    const mayGoOn = now - this.#recalledAt > CALM_MS;
    this.#recalledAt = now;
    this.#isLapsed = false;
    const streams = this.#streams.splice(0).filter((stream) => stream !== undefined);
    const held = streams.map((stream) => ({ stream, outlet: this.outlets.take(stream.id) }));
    for (const { outlet, stream } of held) {
      const id = mayGoOn ? this.#idAnew(stream, now) : undefined;
      if (id === undefined) this.#breakOff(stream, outlet);
      else this.#goOn(stream, id, outlet);
    }
    for (const { stream } of held) if (this.#holds(stream)) surviving(() => this.#catchUp(stream));
  }

  #idAnew({ grant, hasWritten, keepAliveMs, memo }: FannedStream, now: number): number | undefined {
    let id: number | undefined;
    // Where it traps again, the streams before this one are recalled once more, which is too soon.
    if (memo !== undefined && !this.#isLapsed)
      surviving(() => {
        id = this.#core.recall(memo, hasWritten, keepAliveMs, grant?.ms ?? 0, now);
      });
    return id;
  }

  #goOn(stream: FannedStream, id: number, outlet: Outlet): void {
    stream.id = id;
    this.#streams[id] = stream;
    this.outlets.put(id, outlet);
    surviving(() => this.#limit(stream));
  }

  #breakOff(stream: FannedStream, { controller }: Outlet): void {
    controller?.close();
    this.#leave();
    this.#options.onended(stream, 'trapped');
  }

  #enter(open: () => number): number {
    this.#size += 1;
    try {
      return open();
    } catch (error) {
      this.#leave();
      throw fromCore(error);
    }
  }

  #write(fan: Uint8Array, now: number): void {
    const missed = this.outlets.writeAll(fan);
    if (missed.length === 0) return;
    this.#core.missed(Uint32Array.from(missed), now);
    for (const id of missed) {
      const stream = this.#streams[id];
      if (stream !== undefined) stream.isBehind = true;
    }
  }

  /** With the last stream go the bus and the timer. */
  #leave(): void {
    this.#size -= 1;
    if (this.#size > 0) return;
    this.#timer.clear();
    this.#leaveBus?.();
    this.#leaveBus = undefined;
    this.#leaveCore();
  }

  /** Numbers are used again: whoever still has a stream that is gone must not reach another one. */
  #holds(stream: FannedStream): boolean {
    return this.#streams[stream.id] === stream;
  }

  #tick(): void {
    if (this.#isLapsed) return;
    for (const id of this.#core.timeout(performance.now())) this.#catchUp(this.#streams[id]);
    this.#arm();
  }

  #catchUp(stream: FannedStream | undefined): void {
    if (stream === undefined) return;
    stream.isBehind = true;
    this.flush(stream);
  }

  #arm(): void {
    this.#timer.arm(this.#core.deadline);
  }
}
