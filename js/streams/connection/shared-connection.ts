import type { Opening } from '../../bus/opening.js';
import { listenersOf } from '../../bus/operator/listeners.js';
import { ListenError } from '../../model/error.js';
import { finiteTimeout } from '../../model/timeouts.js';
import { Outage } from '../../observe/stream-observer.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import { MINUTE_MS } from '../../timing/spans.js';
import {
  Fanout,
  type LeaseCall,
  Loss,
  Retirement,
  type Stream,
  type StreamOutput,
  type UpstreamCall,
} from '../../wasm/server/bindings.js';
import { FanoutDriver } from '../fanout/driver.js';
import type { FanoutStream } from '../fanout/stream.js';
import { Member } from './member.js';
import type { ConnectionOptions } from './options.js';
import { ConnectionOwner } from './owner.js';
import { lossOf, plannedEnd } from './planned-end.js';
import { refusalCause } from './refusal-cause.js';
import { type UpstreamState, upstreamStateOf } from './upstream-state.js';
import { WRITE_BUDGET } from './write-budget.js';

/**
 * The streams of one isolate that share one socket to the bus. The socket belongs to the request of
 * one stream, its owner, and closes when that request ends. Another request then opens the next
 * socket, and the positions of the log recover the events in between. The lease in the core decides
 * which request owns the socket; each request carries out its steps in its own context. A stream
 * that does not share its socket has a connection to itself.
 */
export class SharedConnection {
  readonly #options: ConnectionOptions;
  readonly #streams: FanoutDriver;
  readonly #members = new Map<FanoutStream, Member>();
  readonly #outage: Outage;
  #owner: ConnectionOwner | undefined;
  #isAway = false;
  #hasEnded = false;
  #probeMs: number;
  /** When it was last looked for dead requests. */
  #lookedAt = performance.now();
  #settling: Deferred<void> | undefined;

  constructor(options: ConnectionOptions) {
    const { busProbeIntervalMs, hasOwnContexts, onError, onLog, onRefused } = options;
    this.#options = options;
    this.#probeMs = busProbeIntervalMs;
    this.#streams = new FanoutDriver({
      make: () =>
        new Fanout(Date.now() - performance.now(), WRITE_BUDGET.writes, WRITE_BUDGET.endIntervalMs),
      onLeft: (stream) => this.#removeMember(stream),
      onTrapped: () => this.#leaveCore(),
      onScope: () => this.#flush(),
      ...{ hasOwnContexts, onError, onRefused },
    });
    this.#outage = new Outage(onLog);
  }

  /** The number of its streams whose bus is unavailable. */
  get away(): number {
    const isAway = this.#members.size > 0 && this.isCurrent && this.#busState.isAway;
    return isAway ? this.#members.size : 0;
  }

  /** Returns the topics with the most streams, and those of callers if `hasCallers`. */
  listeners(max: number, hasCallers: boolean): ReturnType<typeof listenersOf> {
    return this.isCurrent ? listenersOf(this.#core.listeners(max, hasCallers)) : [];
  }

  /** Whether streams can join it: false after `end`, and after a trap while it had streams. */
  get isCurrent(): boolean {
    return !this.#hasEnded;
  }

  /**
   * Returns whether the bus has room for one more stream on this connection, as far as is known.
   */
  hasRoomFor(stream: Stream): boolean {
    const hasRoom = this.#core.hasRoomFor(stream, performance.now());
    // The bus may have more room by now: ask it.
    if (!hasRoom) this.#flush();
    return hasRoom;
  }

  /** The owner of the socket. */
  get owner(): ConnectionOwner | undefined {
    return this.#owner;
  }

  /**
   * Opens a stream in the current request context, which has to be its own. Probes the bus at the
   * shortest interval that any stream requests: every `probeMs` milliseconds, 0 for never.
   */
  open(opening: Opening, probeMs: number): FanoutStream {
    const isSooner = probeMs > 0 && (this.#probeMs === 0 || probeMs < this.#probeMs);
    if (isSooner) this.#probeMs = probeMs;
    this.#setTimeouts();
    const stream = this.#streams.open(opening);
    const member = this.#addMember(stream);
    // A shorter interval has an earlier deadline, for which the owner sets its timer.
    if (!this.#takeSocket(member)) this.#flush(isSooner ? undefined : stream);
    this.#checkOwner(member);
    return stream;
  }

  /** Takes over the only stream of this connection from another one. */
  adopt(stream: FanoutStream, moved: Stream): void {
    this.#setTimeouts();
    this.#streams.adopt(stream, moved);
    const member = this.#addMember(stream);
    member.context.run(() => this.#takeSocket(member));
  }

  /**
   * Asks the bus, once for all streams, for the events that were published before the call.
   * Resolves when the streams have received them. Stays pending if the bus does not reply.
   */
  settle(): Promise<void> {
    if (!this.isCurrent || this.#members.size === 0) return Promise.resolve();
    this.#settling ??= deferred();
    const { promise } = this.#settling;
    this.#core.settle(performance.now());
    this.#flush();
    return promise;
  }

  /** Handles undelivered events as lost before a close: streams of named callers end at once. */
  assumeLoss(): void {
    if (this.isCurrent) this.#streams.gap(true);
  }

  get #core(): Fanout {
    return this.#streams.core;
  }

  get #busState(): UpstreamState {
    return upstreamStateOf(this.#core);
  }

  #setTimeouts(): void {
    this.#core.setTimeouts(finiteTimeout(this.#options.attachMs), this.#probeMs);
  }

  #addMember(stream: FanoutStream): Member {
    const member = new Member(stream, () => this.#checkOwner(member), this.#options.onError);
    this.#members.set(stream, member);
    return member;
  }

  #removeMember(stream: FanoutStream): void {
    const member = this.#members.get(stream);
    if (member === undefined) return;
    this.#members.delete(stream);
    if (this.#owner?.member === member) this.#owner = undefined;
    this.#runLease();
    member.leave();
    if (this.#members.size === 0 && !this.#options.isShared) this.end();
  }

  /** Ends the connection: no stream joins it any more. */
  end(): void {
    this.#options.onEmpty();
    // After a trap its memory is gone. A bus in this process may end it within a call of the core.
    if (this.isCurrent) queueMicrotask(() => this.#streams.free());
    this.#leaveCore();
  }

  /** Neither streams nor late callbacks of a socket use the core any more. */
  #leaveCore(): void {
    this.#hasEnded = true;
    this.#owner = undefined;
  }

  /** Carries out the steps that the lease of the socket requires. */
  #runLease(): void {
    while (this.isCurrent) {
      const call = this.#core.pollLease(performance.now(), Math.random());
      if (call === undefined) return;
      this.#handleLease(call);
    }
  }

  #handleLease(call: LeaseCall): void {
    if (call.kind === 'prove') {
      const owner = this.#owner;
      owner?.context.run(() => {
        if (this.#owner === owner) this.#core.handleProof(call.term);
      });
    } else if (call.kind === 'end') {
      for (const id of call.streams)
        this.#streams.at(id)?.retire(performance.now(), Retirement.Exhausted);
    } else {
      const member = this.#memberAt(call.stream);
      if (call.kind === 'appoint') member?.context.run(() => this.#takeSocket(member));
      else if (member !== undefined) this.#release(member);
    }
  }

  #memberAt(id: number): Member | undefined {
    const stream = this.#streams.at(id);
    return stream && this.#members.get(stream);
  }

  #release(member: Member): void {
    this.#owner = undefined;
    member.release();
    member.context.run(() => this.#checkOwner(member));
  }

  /**
   * Gives the socket to a stream, in the I/O context of its request. Returns whether the stream
   * owns the socket now.
   */
  #takeSocket(member: Member): boolean {
    if (member.isGone || !this.isCurrent) return false;
    const term = this.#core.take(member.stream.id);
    if (term === undefined) return false;
    this.#appoint(member, term);
    return true;
  }

  #appoint(member: Member, term: number): void {
    const owner = new ConnectionOwner(member, term, this.#options, {
      onFrame: (frame) => {
        if (this.#owner === owner) this.#receive(owner, frame);
      },
      onLost: (error) => {
        if (this.#owner === owner) this.#handleLost(owner, error);
      },
      onRedirected: (error) => {
        if (this.#owner === owner) this.#handleRedirect(owner, error);
      },
      onDeadline: () => {
        if (this.#owner !== owner) return;
        const { result } = this.#counted(() =>
          this.#core.pollCall(performance.now(), Math.random()),
        );
        this.#callBus(owner, result);
      },
      onReceived: () => this.#callBus(owner),
    });
    member.own(owner);
    this.#owner = owner;
    this.#callBus(owner);
  }

  #receive(owner: ConnectionOwner, frame: string): void {
    const { result: dropped, state } = this.#counted(() =>
      this.#core.handleMessage(frame, performance.now()),
    );
    if (dropped !== undefined) {
      this.#options.onError(
        new ListenError('bus-frame-dropped', `a bus frame was dropped: ${dropped}`),
      );
    }
    owner.received(state.hasConfirmations);
  }

  /**
   * Runs an action and adds the changes of the counters, once for each stream. Returns its result,
   * and the state after it.
   */
  #counted<T>(action: () => T): { result: T; state: UpstreamState } {
    const streams = this.#members.size;
    const before = this.#busState.counts;
    const result = action();
    const state = this.#busState;
    this.#options.counters.add(before, state.counts, streams);
    this.#reportAway(state.isAway, streams);
    return { result, state };
  }

  /** Reports whether the bus is unavailable, as the core knows it. */
  #reportAway(isAway: boolean, streams: number): void {
    if (this.#options.isShared) this.#outage.update(isAway, streams);
    else if (isAway !== this.#isAway)
      for (const stream of this.#members.keys()) stream.owner.away(stream, isAway);
    this.#isAway = isAway;
  }

  #handleLost(owner: ConnectionOwner, error: Error): void {
    const { code } = error as Partial<ListenError>;
    if (code === 'bus-released') {
      owner.close();
      for (const stream of this.#members.keys()) this.#endReleased(stream, error);
      return;
    }
    this.#handleLoss(owner, error, (now) => {
      this.#core.handleLost(lossOf(code), now, Math.random());
    });
    for (const stream of this.#members.keys()) {
      const planned = plannedEnd(code, performance.now());
      if (planned !== undefined) stream.retire(planned.at, planned.reason);
    }
  }

  /** Ends a stream that the bus has released on purpose. */
  #endReleased(stream: FanoutStream, reason: Error): void {
    stream.refuse(reason);
    this.#streams.abort(stream);
  }

  /** Handles the redirection to a shard: streams that wait for the bus wait for the shard. */
  #handleRedirect(owner: ConnectionOwner, error: Error): void {
    this.#handleLoss(owner, error, (now) =>
      this.#core.handleLost(Loss.Redirected, now, Math.random()),
    );
  }

  #handleLoss(owner: ConnectionOwner, error: Error, action: (now: number) => void): void {
    owner.close();
    this.#counted(() => action(performance.now()));
    this.#deliver(error);
    this.#callBus(owner);
  }

  /**
   * Handles a change: passes the output to the streams, and runs the calls to the bus in the
   * owner's context. `opened`: the change is this stream, which needs no call if the bus has
   * confirmed its topics.
   */
  #flush(opened?: FanoutStream): void {
    this.#deliver();
    if (opened !== undefined && opened.attached === undefined) return;
    const owner = this.#owner;
    owner?.context.run(() => this.#callBus(owner));
  }

  /** Carries out the core's calls to the bus, in the context of the owner's request. */
  #callBus(owner: ConnectionOwner, first?: UpstreamCall): void {
    if (this.#owner !== owner) return;
    const next = () => (this.#owner === owner ? this.#core.pollCall(performance.now()) : undefined);
    for (let call = first ?? next(); call !== undefined; call = next()) {
      if (call.kind === 'leave') owner.close();
      else if (call.kind === 'attach') owner.open(call.text);
      else owner.send(call.text);
    }
    this.#deliver();
    this.#runLease();
    if (this.#owner === owner) owner.arm(this.#busState.deadline);
  }

  /**
   * Passes the core's output to the streams. Output that is left when the request must yield is
   * passed on by the next owner. `lost`: why the bus was lost, if it was.
   */
  #deliver(lost?: Error): void {
    while (this.isCurrent) {
      const output = this.#core.pollOutput(performance.now());
      if (output === undefined) break;
      this.#handleOutput(output, lost);
    }
    if (this.#settling === undefined || !this.isCurrent || !this.#busState.isSettled) return;
    this.#settling.resolve();
    this.#settling = undefined;
  }

  #handleOutput(output: StreamOutput, lost: Error | undefined): void {
    if (output.kind === 'write') this.#streams.write(output.batch);
    else if (output.kind === 'poll')
      for (const id of output.streams) this.#streams.catchUp(this.#streams.at(id));
    else {
      const stream = this.#streams.at(output.stream);
      if (stream === undefined) return;
      if (output.kind === 'moved') this.#handleMoved(stream, output.moved);
      else stream.refuse(refusalCause(output.kind, lost));
    }
  }

  #handleMoved(stream: FanoutStream, moved: Stream): void {
    this.#streams.part(stream);
    this.#options.onMoved(stream, moved);
  }

  /**
   * Checks in the stream's own request context that some request owns the socket, and arms the
   * stream's timer for its next check.
   */
  #checkOwner(member: Member): void {
    if (member.isGone || !this.isCurrent) return;
    this.#endDead();
    const at = this.#core.checkOwner(member.stream.id, performance.now(), Math.random());
    this.#runLease();
    member.arm(at);
  }

  /** Ends the streams whose requests have died without cancelling them. */
  #endDead(): void {
    const now = performance.now();
    if (now < this.#lookedAt + MINUTE_MS) return;
    this.#lookedAt = now;
    for (const [stream, member] of [...this.#members])
      if (member.isDead(MINUTE_MS)) this.#streams.abort(stream);
  }
}
