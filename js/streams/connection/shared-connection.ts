import type { AttachmentCounters } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import { isBusy, ListenError } from '../../model/error.js';
import { patienceOf } from '../../model/timeouts.js';
import { Outage } from '../../observe/stream-observer.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import {
  Fanout,
  type LeaseCall,
  Loss,
  Retirement,
  type Stream,
  type Told,
  type UpstreamCall,
} from '../../wasm/server/bindings.js';
import { generation } from '../../wasm/server/guard.js';
import { FanoutDriver } from '../fanout-driver.js';
import type { FanoutStream } from '../fanout-stream.js';
import { retiringOf } from './bus-ends.js';
import { Member } from './member.js';
import type { ConnectionOptions } from './options.js';
import { ConnectionOwner } from './owner.js';
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
  readonly #life = generation();
  readonly #members = new Map<FanoutStream, Member>();
  readonly #past = { outages: 0, healed: 0, gaps: 0, resyncs: 0 };
  readonly #outage: Outage;
  #holder: ConnectionOwner | undefined;
  #isAway = false;
  #isOver = false;
  #probeMs = 0;
  #settling: Deferred<void> | undefined;

  constructor(options: ConnectionOptions) {
    const { isApart, onError, onLog, onRefused } = options;
    this.#options = options;
    this.#streams = new FanoutDriver({
      make: () =>
        new Fanout(Date.now() - performance.now(), WRITE_BUDGET.writes, WRITE_BUDGET.shedMs),
      isApart,
      onLeft: (stream) => this.#leave(stream),
      onScope: () => this.#stir(),
      onRefused,
      onError,
    });
    this.#outage = new Outage(onLog);
    this.#expect(options.busProbeIntervalMs);
  }

  /** The counters of its streams. */
  get tally(): AttachmentCounters {
    const isAway = this.#members.size > 0 && this.isCurrent && this.#upstream.isAway;
    return { ...this.#past, away: isAway ? this.#members.size : 0 };
  }

  /** Whether the core still knows the connection: false after `end`, and after a trap. */
  get isCurrent(): boolean {
    return !this.#isOver && this.#life === generation();
  }

  /**
   * Returns whether the bus has room for one more stream on this connection, as far as is known.
   */
  hasRoomFor(stream: Stream): boolean {
    const hasRoom = this.#core.hasRoomFor(stream, performance.now());
    // The bus may have more room by now: ask it.
    if (!hasRoom) this.#stir();
    return hasRoom;
  }

  /** The owner of the socket. */
  get holder(): ConnectionOwner | undefined {
    return this.#holder;
  }

  /**
   * Opens a stream in the current request context, which has to be its own. Probes the bus at the
   * shortest interval that any stream requests: every `probeMs` milliseconds, 0 for never.
   */
  open(opening: Opening, probeMs: number): FanoutStream {
    if (probeMs > 0 && (this.#probeMs === 0 || probeMs < this.#probeMs)) this.#expect(probeMs);
    const stream = this.#streams.open(opening);
    const member = this.#enter(stream);
    if (!this.#take(member)) this.#stir();
    this.#watch(member);
    return stream;
  }

  /** Takes over the only stream of this connection from another one. */
  adopt(stream: FanoutStream, parted: Stream): void {
    this.#streams.adopt(stream, parted);
    const member = this.#enter(stream);
    member.context.run(() => this.#take(member));
  }

  /**
   * Asks the bus, once for all streams, for the events that were published before the call.
   * Resolves when the streams have received them. Stays pending if the bus does not answer.
   */
  settle(): Promise<void> {
    if (!this.isCurrent || this.#members.size === 0) return Promise.resolve();
    this.#settling ??= deferred();
    const { promise } = this.#settling;
    this.#core.settle(performance.now());
    this.#stir();
    return promise;
  }

  /** Handles undelivered events as lost before a close: streams of named callers end at once. */
  lastDoubt(): void {
    if (this.isCurrent) this.#streams.lastDoubt();
  }

  get #core(): Fanout {
    return this.#streams.core;
  }

  get #upstream(): {
    counts: number[];
    isAway: boolean;
    isSettled: boolean;
    deadline: number | undefined;
  } {
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0, away, settled, deadline] =
      this.#core.upstream();
    return {
      counts: [outages, healed, gaps, resyncs],
      isAway: away === 1,
      isSettled: settled === 1,
      deadline,
    };
  }

  #expect(probeMs: number): void {
    this.#probeMs = probeMs;
    this.#core.setPatience(patienceOf(this.#options.attachMs), probeMs);
  }

  #enter(stream: FanoutStream): Member {
    const member = new Member(stream, () => this.#watch(member), this.#options.onError);
    this.#members.set(stream, member);
    return member;
  }

  #leave(stream: FanoutStream): void {
    const member = this.#members.get(stream);
    if (member === undefined) return;
    this.#members.delete(stream);
    if (this.#holder?.member === member) this.#holder = undefined;
    this.#lease();
    member.leave();
    if (this.#members.size === 0 && !this.#options.isShared) this.end();
  }

  /** Ends the connection: no stream joins it any more. */
  end(): void {
    this.#options.onEmpty(this);
    // After a trap the core's memory is gone, and must not be freed.
    if (this.isCurrent) this.#streams.free();
    this.#isOver = true;
  }

  /** Carries out the steps that the lease of the socket requires. */
  #lease(): void {
    while (this.isCurrent) {
      const call = this.#core.lease(performance.now(), Math.random());
      if (call === undefined) return;
      this.#heed(call);
    }
  }

  #heed(call: LeaseCall): void {
    if (call.kind === 'prove') {
      const { term } = call;
      this.#holder?.context.run(() => {
        if (this.isCurrent) this.#core.prove(term);
      });
    } else if (call.kind === 'shed') {
      for (const id of call.streams)
        this.#streams.at(id)?.retire(performance.now(), Retirement.Exhausted);
    } else {
      const member = this.#memberOf(call.stream);
      if (call.kind === 'appoint') member?.context.run(() => this.#take(member));
      else if (member !== undefined) this.#release(member);
    }
  }

  #memberOf(id: number): Member | undefined {
    const stream = this.#streams.at(id);
    return stream && this.#members.get(stream);
  }

  #release(member: Member): void {
    this.#holder = undefined;
    member.release();
    member.context.run(() => this.#watch(member));
  }

  /**
   * Gives the socket to a stream, in the I/O context of its request. Returns whether the stream
   * owns the socket now.
   */
  #take(member: Member): boolean {
    if (member.isGone || !this.isCurrent) return false;
    const term = this.#core.take(member.stream.id);
    if (term === undefined) return false;
    this.#hold(member, term);
    return true;
  }

  #hold(member: Member, term: number): void {
    const holder = new ConnectionOwner(member, term, this.#options, {
      receive: (frame) => {
        if (this.#holder === holder && this.isCurrent) this.#receive(holder, frame);
      },
      lost: (error) => {
        if (this.#holder === holder && this.isCurrent) this.#lose(holder, error);
      },
      sentOn: (error) => {
        if (this.#holder === holder && this.isCurrent) this.#sendOn(holder, error);
      },
      tick: () => {
        if (this.#holder !== holder || !this.isCurrent) return;
        this.#serve(
          holder,
          this.#counting(() => this.#core.call(performance.now(), Math.random())),
        );
      },
      serve: () => this.#serve(holder),
    });
    member.hold(holder);
    this.#holder = holder;
    this.#serve(holder);
  }

  #receive(holder: ConnectionOwner, frame: string): void {
    const dropped = this.#counting(() => this.#core.receive(frame, performance.now()));
    if (dropped !== undefined) {
      this.#options.onError(
        new ListenError('bus-frame-dropped', `a bus frame was dropped: ${dropped}`),
      );
    }
    holder.received(this.#core.hasAnswers());
  }

  /** Runs an action and adds the changes of the counters, once for each stream. */
  #counting<T>(action: () => T): T {
    const streams = this.#members.size;
    const before = this.#upstream.counts;
    const result = action();
    const { counts, isAway } = this.#upstream;
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0] = counts.map(
      (count, place) => count - (before[place] ?? 0),
    );
    this.#past.outages += outages * streams;
    this.#past.healed += healed * streams;
    this.#past.gaps += gaps * streams;
    this.#past.resyncs += resyncs * streams;
    this.#look(isAway, streams);
    return result;
  }

  /** Reports whether the bus is away, as the core knows it. */
  #look(isAway: boolean, streams: number): void {
    if (this.#options.isShared) this.#outage.tell(isAway, streams);
    else if (isAway !== this.#isAway)
      for (const stream of this.#members.keys()) stream.owner.away(stream, isAway);
    this.#isAway = isAway;
  }

  #lose(holder: ConnectionOwner, error: Error): void {
    const { code } = error as Partial<ListenError>;
    if (code === 'bus-released') {
      holder.close();
      for (const stream of this.#members.keys()) this.#dismiss(stream, error);
      return;
    }
    this.#miss(holder, error, (now) => {
      this.#core.lose(lossOf(code), now, Math.random());
    });
    for (const stream of this.#members.keys()) {
      const retiring = retiringOf(code, performance.now());
      if (retiring !== undefined) stream.retire(retiring.at, retiring.why);
    }
  }

  /** Ends a stream that the bus has released on purpose. */
  #dismiss(stream: FanoutStream, why: Error): void {
    stream.refuse(why);
    this.#streams.abort(stream);
  }

  /**
   * Handles the redirection to a shard: streams that wait for the bus keep waiting for the shard.
   */
  #sendOn(holder: ConnectionOwner, error: Error): void {
    this.#miss(holder, error, (now) => this.#core.lose(Loss.SentOn, now, Math.random()));
  }

  #miss(holder: ConnectionOwner, error: Error, action: (now: number) => void): void {
    holder.close();
    this.#counting(() => action(performance.now()));
    this.#tell(error);
    this.#serve(holder);
  }

  /**
   * Handles a change: passes the output to the streams, and runs the calls to the bus in the
   * owner's context.
   */
  #stir(): void {
    this.#tell();
    const holder = this.#holder;
    holder?.context.run(() => this.#serve(holder));
  }

  /** Carries out the core's calls to the bus, in the context of the owner's request. */
  #serve(holder: ConnectionOwner, first?: UpstreamCall): void {
    if (this.#holder !== holder || !this.isCurrent) return;
    const next = () => this.#core.call(performance.now());
    for (let call = first ?? next(); call !== undefined; call = next()) {
      if (call.kind === 'leave') holder.close();
      else if (call.kind === 'attach') holder.open(call.text);
      else holder.send(call.text);
    }
    this.#tell();
    this.#lease();
    if (this.#holder === holder && this.isCurrent) holder.arm(this.#upstream.deadline);
  }

  /**
   * Passes the core's output to the streams. Output that is left when the request must yield is
   * passed on by the next owner.
   */
  #tell(why: Error = new ListenError('bus-lost', 'the bus cannot tell what was missed')): void {
    while (this.isCurrent) {
      const told = this.#core.output(performance.now());
      if (told === undefined) break;
      this.#give(told, why);
    }
    if (this.isCurrent && this.#settling !== undefined && this.#upstream.isSettled)
      this.#settled(this.#settling);
  }

  #give(told: Told, why: Error): void {
    if (told.kind === 'write') this.#streams.write(told.fan);
    else if (told.kind === 'poll')
      for (const id of told.streams) this.#streams.catchUp(this.#streams.at(id));
    else {
      const stream = this.#streams.at(told.stream);
      if (stream === undefined) return;
      if (told.kind === 'parted') this.#part(stream, told.parted);
      else stream.refuse(told.kind === 'full' ? noRoom() : why);
    }
  }

  #part(stream: FanoutStream, parted: Stream): void {
    this.#streams.part(stream);
    this.#options.onParted(stream, parted);
  }

  #settled(settling: Deferred<void>): void {
    this.#settling = undefined;
    settling.resolve();
  }

  /**
   * Checks in the stream's own request context that some request owns the socket, and arms the
   * stream's timer for its next check.
   */
  #watch(member: Member): void {
    if (member.isGone || !this.isCurrent) return;
    const at = this.#core.watch(member.stream.id, performance.now(), Math.random());
    this.#lease();
    member.arm(at);
  }
}

function lossOf(code: string | undefined): Loss {
  if (code === 'bus-full') return Loss.Full;
  return isBusy(code) ? Loss.Busy : Loss.Lost;
}

function noRoom(): ListenError {
  return new ListenError('bus-full', 'the bus has no room for what the stream names');
}
