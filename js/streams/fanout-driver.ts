import type { Reauthorizer, RenewedRights } from '../auth/reauthorize.js';
import type { FanoutSink } from '../bus/attachable-bus.js';
import type { Opening } from '../bus/opening.js';
import { fromCore, ListenError } from '../model/error.js';
import type { StreamEnding } from '../model/stats.js';
import { toMonotonic } from '../model/timeouts.js';
import { DeadlineTimer } from '../timing/deadline-timer.js';
import { PerInstance } from '../wasm/per-instance.js';
import { type Fanout, type Retirement, type Stream, StreamState } from '../wasm/server/bindings.js';
import { ignoringTrap, onReset } from '../wasm/server/guard.js';
import { FanoutBodies } from './bodies/fanout-bodies.js';
import { OwnBodies } from './bodies/own-bodies.js';
import { ResponseBody } from './bodies/response-body.js';
import { TrapEnd } from './core-reset.js';
import type { FanoutOptions } from './fanout-options.js';
import { FanoutStream, NONE } from './fanout-stream.js';
import { OwnRequest } from './own-request.js';

/**
 * Streams on one bus, fed by it or with one connection to it. An event goes through the core once, whatever the number of
 * streams, and what comes out is written to all that have room: while a stream has none, its cues wait collapsed in the core.
 *
 * Whatever feeds it calls {@link FanoutDriver.publish}, and {@link FanoutDriver.gap} where it may have lost some.
 */
export class FanoutDriver implements FanoutSink {
  readonly #fanout: PerInstance<Fanout>;
  readonly #options: FanoutOptions;
  readonly #streams: (FanoutStream | undefined)[] = [];
  readonly #lapsed = new Map<FanoutStream, TrapEnd>();
  readonly #outlets = new FanoutBodies();
  /** The bodies of streams that are apart. */
  readonly #own = new OwnBodies((id, error) => this.#refused(id, error));
  readonly #timer = new DeadlineTimer(() => this.#tick());
  #end: (() => void) | undefined;
  #leaveCore = (): void => {};
  #size = 0;

  constructor(options: FanoutOptions) {
    this.#fanout = new PerInstance(options.make);
    this.#options = options;
  }

  /** The core's part; must not be kept. */
  get core(): Fanout {
    return this.#fanout.value;
  }

  /** How many streams are open. */
  get streams(): number {
    return this.#size;
  }

  /** The stream of a number. */
  at(id: number): FanoutStream | undefined {
    return this.#streams[id];
  }

  /**
   * Opens a stream.
   *
   * @throws ListenError `bus-lost`, and whatever the bus throws.
   */
  open(opening: Opening): FanoutStream {
    const { signal, stream: made } = opening;
    if (signal.aborted) {
      ignoringTrap(() => made.free());
      throw new ListenError('bus-lost', 'the client is gone');
    }
    this.#enroll();
    const id = this.#enter(() => this.#opened(opening));
    const stream = new FanoutStream(this, id, opening.owner, opening.grant);
    this.#streams[id] = stream;
    if (this.#options.isApart) {
      const tick = (): void => stream.streams.tick(stream);
      stream.request = new OwnRequest(tick, this.#options.onError);
    }
    if (this.#is(id, StreamState.Opening)) stream.await();
    // The listener is not taken out again: the signal is its request's own, and lives no longer.
    signal.addEventListener('abort', stream);
    this.#attend(stream);
    return stream;
  }

  /** Takes in a stream of another one, as the core there has parted with it. */
  adopt(stream: FanoutStream, parted: Stream): void {
    this.#enroll();
    this.#size += 1;
    stream.id = this.core.adopt(parted, performance.now(), Math.random()) ?? NONE;
    stream.streams = this;
    this.#streams[stream.id] = stream;
    this.begin(stream);
    stream.inContext(() => this.#attend(stream));
  }

  /** Lets a stream go that the core has parted with, and its body with it. */
  part(stream: FanoutStream): void {
    this.#streams[stream.id] = undefined;
    this.#bodies(stream).forget(stream.id);
    this.#options.onLeft?.(stream);
    this.#leave();
  }

  /**
   * Events were published: lines of JSON text, and the moment of `performance.now`. What comes of them is written before
   * this returns.
   */
  publish(events: string, published = performance.now()): void {
    const fan = this.core.publish(events, published, performance.now());
    this.write(fan);
  }

  /** Writes what the core has fanned out. */
  write(fan: Uint8Array | undefined): void {
    const missed = fan && this.#write(fan);
    const due = this.core.due(missed, performance.now());
    if (missed !== undefined) for (const id of missed) this.#miss(this.#streams[id]);
    for (const id of due ?? []) this.catchUp(this.#streams[id]);
    // Whoever has something waiting has to take it in time.
    if (!this.#options.isApart) this.#arm();
  }

  /** Events may have been lost: every stream hears of everything it honors, and one that follows tasks ends without a result. */
  gap(): void {
    this.core.gap(false);
    for (const stream of this.#streams) this.catchUp(stream);
  }

  /** As `gap`, for streams that are about to close: those of callers with a name end at once, without a result. */
  lastDoubt(): void {
    this.core.gap(true);
    for (const stream of this.#streams) this.catchUp(stream);
  }

  /** The bus is closed: every stream ends, without a result. */
  release(): void {
    for (const stream of [...this.#streams, ...this.#lapsed.keys()])
      if (stream !== undefined) this.end(stream, 'aborted');
  }

  /** There is a body: where the stream was closed before that, all that is left goes into it. */
  begin(stream: FanoutStream): void {
    const { body, id } = stream;
    if (!this.#holds(stream) || body === undefined) return;
    if (body instanceof ResponseBody) this.#own.open(id, body);
    else this.#outlets.open(id, body);
    if (body instanceof ResponseBody || this.#is(id, StreamState.Frozen)) this.flush(stream);
  }

  /** A reader waits for a write. */
  vacate(stream: FanoutStream): void {
    this.#outlets.markReady(stream.id);
  }

  /** The reader of a stream has left, and there is no body any more. */
  leave(stream: FanoutStream): void {
    if (this.#holds(stream)) this.#bodies(stream).forget(stream.id);
    this.end(stream, 'left');
  }

  /** Writes to a stream what waits for it: as far as there is room, and all of it where the stream was closed. */
  flush(stream: FanoutStream): void {
    if (!this.#holds(stream)) return;
    const bodies = this.#bodies(stream);
    const { id } = stream;
    const now = performance.now();
    while (this.#mayWrite(stream)) {
      const bytes = this.core.poll(id, true, now);
      if (bytes === undefined) {
        stream.isBehind = false;
        break;
      }
      bodies.write(id, bytes);
    }
    if (this.#is(id, StreamState.Ended)) {
      stream.inContext(() => this.end(stream));
      return;
    }
    if (!this.#mayWrite(stream)) {
      this.core.poll(id, false, now);
      bodies.await(id);
    }
    this.#attend(stream);
  }

  /** Something may wait for a stream. */
  catchUp(stream: FanoutStream | undefined): void {
    if (stream === undefined) return;
    if (!this.#is(stream.id, StreamState.Opening)) stream.attach();
    stream.isBehind = true;
    this.flush(stream);
  }

  /** Ends a stream gracefully; one of a core that has trapped, at once. `isSettled`: the bus has delivered what was published before. */
  close(stream: FanoutStream, isSettled: boolean): void {
    if (this.#lapsed.has(stream)) this.end(stream);
    if (!this.#holds(stream)) return;
    ignoringTrap(() => {
      this.core.close(stream.id, isSettled);
      this.catchUp(stream);
    });
  }

  /** Ends a stream at a moment of `performance.now`, without a result, after what is pending then. */
  retire(stream: FanoutStream, at: number, why: Retirement): void {
    if (!this.#holds(stream)) return;
    ignoringTrap(() => {
      this.core.retireAt(stream.id, at, why);
      this.#attend(stream);
    });
  }

  /** Ends a stream at once, without a result. */
  abort(stream: FanoutStream): void {
    this.#ended(stream, undefined, true);
  }

  /** Lets a stream go; without a reason, for the one that the core knows. */
  end(stream: FanoutStream, ending?: StreamEnding): void {
    this.#ended(stream, ending, false);
  }

  #ended(stream: FanoutStream, ending: StreamEnding | undefined, givesUp: boolean): void {
    const known = this.#removed(stream, givesUp);
    const lapsed = this.#lapsed.get(stream);
    if (lapsed === undefined && !this.#holds(stream)) return;
    if (lapsed === undefined) this.#streams[stream.id] = undefined;
    this.#lapsed.delete(stream);
    this.#options.onLeft?.(stream);
    if (lapsed === undefined) this.#bodies(stream).close(stream.id);
    else lapsed.end(stream);
    stream.leave();
    this.#leave();
    stream.owner.ended(stream, ending ?? known ?? (lapsed === undefined ? 'aborted' : 'trapped'));
  }

  /** The timer of a stream that is apart has come. */
  tick(stream: FanoutStream): void {
    if (!this.#holds(stream)) return;
    this.core.timeout(stream.id, performance.now());
    this.catchUp(stream);
  }

  /** No stream comes any more, and none is held. */
  free(): void {
    ignoringTrap(() => this.core.free());
  }

  #bodies({ request }: FanoutStream): FanoutBodies | OwnBodies {
    return request === undefined ? this.#outlets : this.#own;
  }

  #mayWrite(stream: FanoutStream): boolean {
    const bodies = this.#bodies(stream);
    const { id } = stream;
    return bodies.hasRoom(id) || (bodies.isOpen(id) && this.#is(id, StreamState.Frozen));
  }

  /** Where another request must not write to a body, the stream's own does. */
  #refused(id: number, error: Error): void {
    this.#options.onRefused?.(error);
    const stream = this.#streams[id];
    stream?.inContext(() => {
      if (!this.#holds(stream)) return;
      if (this.#own.writeKept(id)) ignoringTrap(() => this.flush(stream));
      else this.abort(stream);
    });
  }

  /** Sees to it that what a stream has to do by time is done, and that whoever has to be asked for it is. What belongs to its request waits for that. */
  #attend(stream: FanoutStream): void {
    if (stream.request === undefined) {
      this.#arm();
      this.#ask(stream);
      return;
    }
    const { id, request } = stream;
    if (!this.#is(id, StreamState.Asking) && request.timer.covers(this.core.deadline(id))) return;
    request.context.run(() => ignoringTrap(() => this.#attendAtHome(stream, request)));
  }

  #attendAtHome(stream: FanoutStream, { timer }: OwnRequest): void {
    if (!this.#holds(stream)) return;
    timer.arm(this.core.deadline(stream.id));
    this.#ask(stream);
  }

  /** What waits for somebody to say that the caller may still hear it goes on when that is said. */
  #ask(stream: FanoutStream): void {
    const { grant } = stream;
    const question = grant && this.core.question(stream.id);
    if (question !== undefined)
      void grant?.ask(question).then((granted) => stream.streams.renew(stream, grant, granted));
  }

  /** What the caller of a stream may hear from now on; undefined: nothing. */
  renew(stream: FanoutStream, grant: Reauthorizer, granted: RenewedRights | undefined): void {
    if (!this.#holds(stream)) return;
    let wrong: string | undefined;
    ignoringTrap(() => {
      const endsAt = granted?.expiresAt === undefined ? undefined : toMonotonic(granted.expiresAt);
      wrong = this.core.renew(stream.id, granted?.filter, endsAt, performance.now());
      this.#options.onScope?.();
      this.catchUp(stream);
    });
    grant.refuse(wrong);
  }

  /** Why the core says that a stream has ended, which it knows no longer then. */
  #removed(stream: FanoutStream, givesUp: boolean): StreamEnding | undefined {
    if (!this.#holds(stream)) return undefined;
    let ending: string | undefined;
    ignoringTrap(() => {
      ending = this.core.remove(stream.id, givesUp);
    });
    return ending as StreamEnding | undefined;
  }

  /** The first stream brings the bus. */
  #enroll(): void {
    if (this.#end !== undefined) return;
    this.#end = this.#options.begin?.() ?? (() => {});
    this.#leaveCore = onReset((error) => this.#trapped(error));
  }

  /** The streams of a core that has trapped end one after the other, without a result; a new core has those that open from now on. */
  #trapped(error: Error): void {
    const streams = this.#streams.splice(0).filter((stream) => stream !== undefined);
    for (const owner of new Set(streams.map(({ owner }) => owner))) owner.trapped(error);
    for (const stream of streams) {
      this.#bodies(stream).forget(stream.id);
      stream.id = NONE;
      const lapsed = new TrapEnd(() => this.end(stream));
      this.#lapsed.set(stream, lapsed);
      stream.inContext(() => lapsed.arm(stream));
    }
  }

  #opened({ expiresAt, grant, maxConnectionAgeMs, writeMs, stream }: Opening): number {
    const now = performance.now();
    const retiresAt = maxConnectionAgeMs > 0 ? now + maxConnectionAgeMs : undefined;
    const endsAt = expiresAt === undefined ? undefined : toMonotonic(expiresAt);
    return this.core.open(stream, writeMs, grant?.ms ?? 0, retiresAt, endsAt, now);
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

  /** Writes a fan; the answer names the streams that had no room. */
  #write(fan: Uint8Array): Uint32Array | undefined {
    const missed = (this.#options.isApart ? this.#own : this.#outlets).writeAll(fan);
    return missed.length === 0 ? undefined : Uint32Array.from(missed);
  }

  #miss(stream: FanoutStream | undefined): void {
    if (stream === undefined) return;
    stream.isBehind = true;
    if (!this.#options.isApart) return;
    this.#own.await(stream.id);
    this.#attend(stream);
  }

  /** Whether this holds of a stream. */
  #is(id: number, state: StreamState): boolean {
    return (this.core.stateOf(id) & state) !== 0;
  }

  /** With the last stream go the bus and the timer. */
  #leave(): void {
    this.#size -= 1;
    if (this.#size > 0) return;
    this.#timer.clear();
    this.#end?.();
    this.#end = undefined;
    this.#leaveCore();
  }

  /** Numbers are used again: whoever still has a stream that is gone must not reach another one. */
  #holds(stream: FanoutStream): boolean {
    return this.#streams[stream.id] === stream;
  }

  #tick(): void {
    for (const id of this.core.timeout(undefined, performance.now()))
      this.catchUp(this.#streams[id]);
    this.#arm();
  }

  /** After the last stream there is nothing to do by time, and perhaps no core. */
  #arm(): void {
    if (this.#size > 0) this.#timer.arm(this.core.deadline());
  }
}
