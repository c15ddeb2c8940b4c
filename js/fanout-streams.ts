import type { EventFeed } from './bus/bus.js';
import { DeadlineTimer } from './deadline-timer.js';
import { fromCore, ListenError } from './error.js';
import { FannedStream, NONE } from './fanned-stream.js';
import type { Grant, Granted } from './grant.js';
import type { StreamEnding } from './held-stream.js';
import { type Body, Outlets } from './outlets.js';
import { Renewed } from './renewed.js';
import { expiry } from './times.js';
import { surviving, whenTrapped } from './trap.js';
import { type Accepted, type Discovered, Fanout, Retirement, type Tally } from './wasm.js';

/** How the streams of a {@link FanoutStreams} are served. */
export interface FanoutOptions {
  /** Registers with the bus whose events they hear; the answer takes out again. */
  feed: (feed: EventFeed) => () => void;
  /** Counts what the streams go through. */
  tally: () => Tally;
  /** How long a reader may take nothing while something waits for it, in milliseconds; 0: for ever. */
  stallMs: number;
  /** Over how many milliseconds the streams of a core that has trapped end. */
  trapMs: () => number;
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
  readonly #timer = new DeadlineTimer(() => this.#tick());
  #leaveBus: (() => void) | undefined;
  #leaveCore = (): void => {};
  #size = 0;
  /** The streams of a core that has trapped, in the order of their ends. */
  readonly #lapsed = new Map<FannedStream, Lapsed>();
  readonly #lapse = new DeadlineTimer(() => this.#endLapsed());

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
  open(opening: FanoutOpening): FannedStream {
    const { grant, signal } = opening;
    if (signal.aborted) throw new ListenError('bus-lost', 'the client is gone');
    this.#enroll();
    const id = this.#enter(() => this.#opened(opening));
    const stream = new FannedStream(this, id, grant);
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
    const now = performance.now();
    const fan = this.#core.publish(events, published, now);
    if (fan !== undefined) this.#write(fan, now);
    for (const id of this.#core.due() ?? []) this.#catchUp(this.#streams[id]);
    // Whoever has something waiting has to take it in time.
    this.#arm();
  }

  /** Events may have been lost: every stream hears of everything it honors, and one that follows tasks ends without a result. */
  gap(): void {
    this.#core.gap();
    for (const stream of this.#streams) this.#catchUp(stream);
  }

  /** As `gap`, for streams that are about to close: those of callers with a name end at once, without a result. */
  lastDoubt(): void {
    this.#core.lastDoubt();
    for (const stream of this.#streams) this.#catchUp(stream);
  }

  /** The bus is closed: every stream ends, without a result. */
  release(): void {
    for (const stream of [...this.#streams, ...this.#lapsed.keys()])
      if (stream !== undefined) this.end(stream, 'aborted');
  }

  /** There is a body: where the stream was closed before that, all that is left goes into it. */
  begin(stream: FannedStream, body: Body): void {
    const lapsed = this.#lapsed.get(stream);
    if (lapsed !== undefined) lapsed.body = body;
    if (body === undefined || !this.#holds(stream)) return;
    this.outlets.open(stream.id, body);
    if (this.#core.isFrozen(stream.id)) this.flush(stream);
  }

  /** The reader of a stream has left, and there is no body any more. */
  leave(stream: FannedStream): void {
    const lapsed = this.#lapsed.get(stream);
    if (lapsed !== undefined) lapsed.body = undefined;
    if (this.#holds(stream)) this.outlets.forget(stream.id);
    this.end(stream, 'left');
  }

  /** Writes to a stream what waits for it: as far as there is room, and all of it where the stream was closed. */
  flush(stream: FannedStream): void {
    if (!this.#holds(stream)) return;
    const now = performance.now();
    while (this.#mayWrite(stream)) {
      const bytes = this.#core.poll(stream.id, now);
      if (bytes === undefined) {
        stream.isBehind = false;
        break;
      }
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

  /** Ends a stream gracefully; one of a core that has trapped, at once. */
  close(stream: FannedStream): void {
    if (this.#lapsed.has(stream)) this.end(stream);
    if (!this.#holds(stream)) return;
    surviving(() => {
      this.#core.close(stream.id);
      this.#catchUp(stream);
    });
  }

  /** Ends a stream at a moment of `performance.now`, without a result, after what is pending then. */
  retire(stream: FannedStream, at: number, why: Retirement): void {
    if (!this.#holds(stream)) return;
    surviving(() => {
      this.#core.retireAt(stream.id, at, why);
      this.#arm();
    });
  }

  /** Ends a stream at once, without a result. */
  abort(stream: FannedStream): void {
    if (this.#holds(stream)) surviving(() => this.#core.abort(stream.id));
    this.end(stream);
  }

  /** Lets a stream go; without a reason, for the one that the core knows. */
  end(stream: FannedStream, ending?: StreamEnding): void {
    const known = this.#removed(stream);
    const lapsed = this.#lapsed.get(stream);
    if (lapsed === undefined && !this.#holds(stream)) return;
    if (lapsed === undefined) this.#streams[stream.id] = undefined;
    this.#lapsed.delete(stream);
    this.#leave();
    if (lapsed === undefined) this.outlets.close(stream.id);
    else lapsed.body?.close();
    this.#options.onended(stream, ending ?? known ?? (lapsed === undefined ? 'aborted' : 'trapped'));
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
    if (!this.#holds(stream)) return;
    let wrong: string | undefined;
    surviving(() => {
      wrong = this.#core.renew(stream.id, granted?.filter, performance.now());
      if (granted !== undefined) this.#renewed(stream, granted.expiresAt);
      this.#catchUp(stream);
    });
    grant.refuse(wrong);
  }

  #renewed({ id }: FannedStream, expiresAt: number | undefined): void {
    this.#core.expireAt(id, expiresAt === undefined ? undefined : expiry(expiresAt));
  }

  /** Why the core says that a stream has ended, which it knows no longer then. */
  #removed(stream: FannedStream): StreamEnding | undefined {
    if (!this.#holds(stream)) return undefined;
    let ending: string | undefined;
    surviving(() => {
      ending = this.#core.remove(stream.id);
    });
    return ending as StreamEnding | undefined;
  }

  /** The first stream brings the bus. */
  #enroll(): void {
    if (this.#leaveBus !== undefined) return;
    this.#leaveBus = this.#options.feed(this);
    this.#leaveCore = whenTrapped((error) => this.#trapped(error));
  }

  /** The streams of a core that has trapped end one after the other, without a result; a new core has those that open from now on. */
  #trapped(error: Error): void {
    this.#options.onerror(error);
    const streams = this.#streams.splice(0).filter((stream) => stream !== undefined);
    const [now, slice] = [performance.now(), this.#options.trapMs() / streams.length];
    streams.forEach((stream, place) => {
      this.#lapsed.set(stream, { at: now + slice * (place + Math.random()), body: this.outlets.take(stream.id) });
      stream.id = NONE;
    });
    this.#endLapsed();
  }

  #endLapsed(): void {
    for (const [stream, { at }] of this.#lapsed) {
      if (at <= performance.now()) this.end(stream);
      else {
        this.#lapse.arm(at);
        return;
      }
    }
  }

  #opened({
    accepted,
    expiresAt,
    grant,
    keepAliveMs,
    known,
    maxConnectionAgeMs,
    permit,
    scope,
  }: FanoutOpening): number {
    const now = performance.now();
    const id = this.#core.open(accepted, known, permit, scope, keepAliveMs, now);
    this.#core.attached(id, now);
    if (maxConnectionAgeMs > 0) this.#core.retireAt(id, now + maxConnectionAgeMs, Retirement.Rotated);
    if (expiresAt !== undefined) this.#core.expireAt(id, expiry(expiresAt));
    if (grant !== undefined) this.#core.grantFor(id, grant.ms, now);
    return id;
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
    this.#lapse.clear();
    this.#leaveBus?.();
    this.#leaveBus = undefined;
    this.#leaveCore();
  }

  /** Numbers are used again: whoever still has a stream that is gone must not reach another one. */
  #holds(stream: FannedStream): boolean {
    return this.#streams[stream.id] === stream;
  }

  #tick(): void {
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

/** A stream that ends because its core has trapped. */
interface Lapsed {
  /** When; a moment of `performance.now`. */
  at: number;
  body: Body;
}
