import type { Reauthorizer, RenewedRights } from '../../auth/reauthorize.js';
import type { FanoutSink } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import { fromCore, ListenError } from '../../model/error.js';
import type { EndReason } from '../../model/stats/listen.js';
import { toMonotonic } from '../../model/timeouts.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { PerInstance } from '../../wasm/per-instance.js';
import { type Fanout, Retirement, type Stream, StreamState } from '../../wasm/server/bindings.js';
import { ignoringTrap, onReset } from '../../wasm/server/guard.js';
import { FanoutBodies, type StreamBodies } from '../bodies/fanout-bodies.js';
import { OwnBodies } from '../bodies/own-bodies.js';
import type { ResponseBody } from '../bodies/response-body.js';
import { openIn } from '../opening/open-in.js';
import type { FanoutOptions } from './options.js';
import { OwnRequest } from './own-request.js';
import { FanoutStream, NONE, type StreamDriver } from './stream.js';
import { TrapEnds } from './trap-ends.js';
import { TurnEvents } from './turn-events.js';

/**
 * Drives the streams of one bus, which feeds them or to which they have one connection. The core
 * handles each event once, whatever the number of streams. The cues of a stream without room wait
 * in the core, collapsed.
 *
 * The bus calls {@link FanoutDriver.publish}, and after a possible loss {@link FanoutDriver.gap}.
 */
export class FanoutDriver implements FanoutSink, StreamDriver {
  readonly turn: TurnEvents;
  readonly #fanout: PerInstance<Fanout>;
  readonly #options: FanoutOptions;
  readonly #streams: (FanoutStream | undefined)[] = [];
  readonly #trapEnds = new TrapEnds();
  readonly #bodies: StreamBodies;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  #end: (() => void) | undefined;
  #removeResetListener = (): void => {};
  #size = 0;

  constructor(options: FanoutOptions) {
    this.#fanout = new PerInstance(options.make);
    this.#options = options;
    this.turn = new TurnEvents(this, options.onError);
    this.#bodies = options.hasOwnContexts
      ? new OwnBodies((id, body, error) => this.#handleRefusedWrite(id, body, error))
      : new FanoutBodies();
  }

  /** The core's part. Do not store it: a reset replaces it. */
  get core(): Fanout {
    this.turn.flush();
    return this.#fanout.value;
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#size;
  }

  /** Returns the stream with this id. */
  at(id: number): FanoutStream | undefined {
    return this.#streams[id];
  }

  /**
   * Opens a stream.
   *
   * @throws ListenError `bus-lost`, and any error of the bus.
   */
  open(opening: Opening): FanoutStream {
    const { signal, stream: coreStream } = opening;
    if (signal.aborted) {
      ignoringTrap(() => coreStream.free());
      throw new ListenError('bus-lost', 'the client has disconnected');
    }
    this.#attach();
    const id = this.#counted(() => openIn(this.core, opening));
    const stream = new FanoutStream(this, id, opening.owner, opening.reauthorizer);
    this.#streams[id] = stream;
    if (this.#options.hasOwnContexts)
      stream.request = new OwnRequest(() => stream.streams.tick(stream), this.#options.onError);
    if (this.#isIn(id, StreamState.Opening)) stream.awaitAttach();
    // The listener needs no removal: the signal belongs to the stream's request and ends with it.
    signal.addEventListener('abort', stream);
    if (stream.request === undefined) this.#update(stream);
    else this.#updateInContext(stream, stream.request);
    return stream;
  }

  /** Takes over a stream from another driver, after the core there has released it. */
  adopt(stream: FanoutStream, moved: Stream): void {
    this.#attach();
    this.#size += 1;
    stream.id = this.core.adopt(moved, performance.now(), Math.random()) ?? NONE;
    stream.streams = this;
    this.#streams[stream.id] = stream;
    this.handleOpen(stream);
    stream.inContext(() => this.#update(stream));
  }

  /** Forgets a stream that the core has released, and its body. */
  part(stream: FanoutStream): void {
    this.#streams[stream.id] = undefined;
    this.#bodies.forget(stream.id);
    this.#options.onLeft?.(stream);
    this.#countDown();
  }

  /** Publishes lines of JSON text to the streams, as {@link TurnEvents.add}. */
  publish(events: string, published = performance.now()): void {
    this.turn.add(events, published);
  }

  /** Writes a batch of the core. */
  write(batch: Uint8Array | undefined): void {
    const missed = batch === undefined ? [] : this.#bodies.writeAll(batch);
    const full = missed.length === 0 ? undefined : Uint32Array.from(missed);
    const due = this.core.due(full, performance.now());
    for (const id of missed) this.#markMissed(this.#streams[id]);
    for (const id of due ?? []) this.catchUp(this.#streams[id]);
    // Pending output has a deadline by which the client must read.
    if (!this.#options.hasOwnContexts) this.#arm();
  }

  /**
   * Handles a possible loss: cues each honored topic; streams with tasks end without a result, and
   * before a close the streams of named callers too, at once.
   */
  gap(isClosing = false): void {
    this.core.handleGap(isClosing);
    for (const stream of this.#streams) this.catchUp(stream);
  }

  /** Ends every stream without a result, because the bus is closed. */
  release(): void {
    for (const stream of [...this.#streams, ...this.#trapEnds.streams()])
      if (stream !== undefined) this.end(stream, 'aborted');
  }

  /** Handles the opening of a body. A stream that was closed before gets all its output now. */
  handleOpen(stream: FanoutStream): void {
    const { body, id } = stream;
    // It may have ended before its response was created.
    if (!this.#has(stream) && !this.#trapEnds.has(stream)) body?.close();
    if (!this.#has(stream) || body === undefined) return;
    this.#bodies.open(id, body);
    if (this.#options.hasOwnContexts || this.#isIn(id, StreamState.Frozen)) this.flush(stream);
  }

  markReady(stream: FanoutStream): void {
    this.#bodies.markReady(stream.id);
  }

  readBy(stream: FanoutStream, reader: number): void {
    if (this.#has(stream)) ignoringTrap(() => this.core.readBy(stream.id, reader));
  }

  maySend(stream: FanoutStream): boolean {
    if (!this.#has(stream)) return false;
    if (this.core.maySend(stream.id, performance.now())) return true;
    this.#update(stream);
    return false;
  }

  leave(stream: FanoutStream): void {
    if (this.#has(stream)) this.#bodies.forget(stream.id);
    this.end(stream, 'left');
  }

  /** Writes pending output while the body has room, or all of it if the stream was closed. */
  flush(stream: FanoutStream): void {
    if (!this.#has(stream)) return;
    const { id } = stream;
    const now = performance.now();
    while (this.#mayWrite(id)) {
      const bytes = this.core.poll(id, true, now);
      if (bytes === undefined) {
        stream.isBehind = false;
        break;
      }
      this.#bodies.write(id, bytes);
    }
    const state = this.core.stateOf(id);
    if ((state & StreamState.Ended) !== 0) {
      stream.inContext(() => this.end(stream));
      return;
    }
    if (!this.#mayWrite(id, state)) {
      this.core.poll(id, false, now);
      this.#bodies.awaitRoom(id);
    }
    this.#update(stream);
  }

  /** Writes output that may be pending for a stream. */
  catchUp(stream: FanoutStream | undefined): void {
    if (stream === undefined) return;
    // A stream that ends before the bus has confirmed is refused when it leaves.
    if (!this.#isIn(stream.id, StreamState.Opening | StreamState.Ended)) stream.attach();
    stream.isBehind = true;
    this.flush(stream);
  }

  /**
   * Ends a stream gracefully, or at once if its core has trapped. `isSettled`: the bus has
   * delivered everything that was published before.
   */
  close(stream: FanoutStream, isSettled: boolean): void {
    if (this.#trapEnds.has(stream)) this.end(stream);
    if (!this.#has(stream)) return;
    ignoringTrap(() => {
      this.core.close(stream.id, isSettled);
      this.catchUp(stream);
    });
  }

  /** Ends a stream at this time, after its pending output and without a result. */
  retire(stream: FanoutStream, at: number, reason: Retirement): void {
    if (!this.#has(stream)) return;
    ignoringTrap(() => {
      this.core.retireAt(stream.id, at, reason);
      this.#update(stream);
    });
  }

  /** Ends a stream at once, without a result. */
  abort(stream: FanoutStream): void {
    this.#ended(stream, undefined, true);
  }

  /** Removes a stream. Without `ending`, the core's reason applies. */
  end(stream: FanoutStream, ending?: EndReason): void {
    this.#ended(stream, ending, false);
  }

  #ended(stream: FanoutStream, ending: EndReason | undefined, givesUp: boolean): void {
    const known = this.#removed(stream, givesUp);
    const isTrapped = this.#trapEnds.take(stream);
    if (!isTrapped && !this.#has(stream)) return;
    if (!isTrapped) this.#streams[stream.id] = undefined;
    this.#options.onLeft?.(stream);
    if (isTrapped) stream.body?.close();
    else this.#bodies.close(stream.id);
    stream.leave();
    this.#countDown();
    stream.owner.ended(stream, ending ?? known ?? (isTrapped ? 'trapped' : 'aborted'));
  }

  /** Handles the timer of a stream with its own request context. */
  tick(stream: FanoutStream): void {
    if (!this.#has(stream)) return;
    this.core.handleTimeout(stream.id, performance.now());
    this.catchUp(stream);
  }

  /** Frees the core's part: no stream is open, and none is opened any more. */
  free(): void {
    ignoringTrap(() => this.core.free());
  }

  #mayWrite(id: number, state?: number): boolean {
    const bodies = this.#bodies;
    if (bodies.hasRoom(id)) return true;
    return bodies.isOpen(id) && ((state ?? this.core.stateOf(id)) & StreamState.Frozen) !== 0;
  }

  /** Handles a refused write to a body: writes again in the request context of the stream. */
  #handleRefusedWrite(id: number, body: ResponseBody, error: Error): void {
    this.#options.onRefused?.(error);
    const stream = this.#streams[id];
    stream?.inContext(() => {
      if (!this.#has(stream)) return;
      if (body.writeKept()) ignoringTrap(() => this.flush(stream));
      else this.abort(stream);
    });
  }

  /** Arms the timer and renews the authorization, in the stream's own request context if any. */
  #update(stream: FanoutStream): void {
    if (stream.request === undefined) {
      this.#arm();
      this.#reauthorize(stream);
      return;
    }
    const { id, reauthorizer, request } = stream;
    const asks = reauthorizer !== undefined && this.#isIn(id, StreamState.Asking);
    if (!asks && request.timer.covers(this.core.pollTimeout(id))) return;
    request.context.run(() => ignoringTrap(() => this.#updateInContext(stream, request)));
  }

  #updateInContext(stream: FanoutStream, { timer }: OwnRequest): void {
    if (!this.#has(stream)) return;
    timer.arm(this.core.pollTimeout(stream.id));
    this.#reauthorize(stream);
  }

  /** Renews the authorization if the core requires it; the core withholds output until then. */
  #reauthorize(stream: FanoutStream): void {
    const { reauthorizer } = stream;
    const filter = reauthorizer && this.core.authorizationRequest(stream.id);
    if (reauthorizer === undefined || filter === undefined) return;
    const renewed = reauthorizer.renew(filter);
    void renewed.then((rights) => stream.streams.renew(stream, reauthorizer, rights));
  }

  /** Handles the renewed rights of a stream's caller; undefined: it may receive nothing. */
  renew(stream: FanoutStream, reauthorizer: Reauthorizer, rights: RenewedRights | undefined): void {
    if (!this.#has(stream)) return;
    let error: string | undefined;
    ignoringTrap(() => {
      const endsAt = toMonotonic(rights?.expiresAt);
      error = this.core.renew(stream.id, rights?.filter, endsAt, performance.now());
      this.#options.onScope?.();
      this.catchUp(stream);
    });
    reauthorizer.finish(error);
    if (!reauthorizer.isExhausted) return;
    // Spread, because the streams of an isolate are authorized again by the same events.
    this.retire(stream, performance.now() + Math.random() * RETIREMENT_MS, Retirement.Exhausted);
  }

  /** Removes a stream from the core. Returns the core's reason for its end. */
  #removed(stream: FanoutStream, givesUp: boolean): EndReason | undefined {
    if (!this.#has(stream)) return undefined;
    let ending: string | undefined;
    ignoringTrap(() => {
      ending = this.core.remove(stream.id, givesUp);
    });
    return ending as EndReason | undefined;
  }

  /** Attaches to the bus before the first stream. */
  #attach(): void {
    if (this.#end !== undefined) return;
    this.#end = this.#options.begin?.() ?? (() => {});
    this.#removeResetListener = onReset((error) => this.#handleTrap(error));
  }

  /** Ends the streams of a core that has trapped, one after the other and without a result. */
  #handleTrap(error: Error): void {
    this.#options.onTrapped?.();
    const streams = this.#streams.splice(0).filter((stream) => stream !== undefined);
    for (const stream of streams) {
      this.#bodies.forget(stream.id);
      stream.id = NONE;
      this.#trapEnds.schedule(stream, () => this.end(stream));
    }
    for (const owner of new Set(streams.map(({ owner }) => owner))) owner.trapped(error);
  }

  #counted(open: () => number): number {
    this.#size += 1;
    try {
      return open();
    } catch (error) {
      this.#countDown();
      throw fromCore(error);
    }
  }

  #markMissed(stream: FanoutStream | undefined): void {
    if (stream === undefined) return;
    stream.isBehind = true;
    this.#bodies.awaitRoom(stream.id);
    if (this.#options.hasOwnContexts) this.#update(stream);
  }

  #isIn(id: number, state: StreamState): boolean {
    return (this.core.stateOf(id) & state) !== 0;
  }

  /** Detaches from the bus and clears the timer after the last stream. */
  #countDown(): void {
    this.#size -= 1;
    if (this.#size > 0) return;
    this.#timer.clear();
    this.#end?.();
    this.#end = undefined;
    this.#removeResetListener();
  }

  /** Returns whether this is the current holder: ids are reused after a stream has ended. */
  #has(stream: FanoutStream): boolean {
    return this.#streams[stream.id] === stream;
  }

  #tick(): void {
    for (const id of this.core.handleTimeout(undefined, performance.now()))
      this.catchUp(this.#streams[id]);
    this.#arm();
  }

  /** Arms the timer. Without streams there is no deadline, and there may be no core. */
  #arm(): void {
    if (this.#size > 0) this.#timer.arm(this.core.pollTimeout());
  }
}

/** Milliseconds over which streams end whose requests may send few further requests. */
const RETIREMENT_MS = 10_000;
