import type { AuthorizeContext, AuthorizeOptions, CallerContext } from '../auth/authorize.js';
import type { PrincipalOptions } from '../auth/principal.js';
import {
  isAskedAgain,
  type ReauthorizeOptions,
  type Reauthorizer,
  reauthorizerOf,
} from '../auth/reauthorize.js';
import type { AttachableBus, AttachmentListener, BusConnection } from '../bus/attachable-bus.js';
import type { Opening, StreamOwner } from '../bus/opening.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { Discovery } from '../handler/discovery.js';
import { calling, ListenError } from '../model/error.js';
import { host } from '../model/host-profile.js';
import type { ListenLimits } from '../model/limits.js';
import type { ListenStats, StreamEnding } from '../model/stats.js';
import { type Intervals, jittered, type ListenTimeouts, patienceOf } from '../model/timeouts.js';
import type { StreamObserver, StreamSpan } from '../observe/stream-observer.js';
import { withTimeout } from '../timing/with-timeout.js';
import {
  type Discovered,
  type Exchange,
  Fanout,
  Refusal,
  Retirement,
  type Stream,
  type Tally,
} from '../wasm/server/bindings.js';
import { continentOf, scopeOf } from './caller.js';
import { OwnConnections } from './connection/own-connections.js';
import { FanoutDriver } from './fanout-driver.js';
import type { InnerStream } from './inner/inner-stream.js';
import { PrincipalQuota, type Seat } from './principal-quota.js';
import { SETTLE_MS, StreamRegistry } from './registry.js';

/** Options of a {@link StreamManager}. */
export interface StreamManagerOptions {
  bus: AttachableBus;
  limits: Required<ListenLimits>;
  timeouts: Required<ListenTimeouts>;
  intervals: Required<Intervals>;
  /** Determines what callers may receive. */
  authorizing: AuthorizeOptions<AuthorizeContext>;
  /** Determines the names of callers. */
  naming: PrincipalOptions;
  /** Observes the streams. */
  witness: StreamObserver;
  /** Discovers the capabilities of the server. */
  discovery: Discovery;
  onError: (error: Error) => void;
}

/** Opens the streams of one server, up to its limits, and holds them until they end. */
export class StreamManager {
  readonly #options: StreamManagerOptions;
  readonly #streams: StreamRegistry;
  /** The streams that the bus feeds. */
  readonly #fanout: FanoutDriver | undefined;
  /** The connections of the streams of sessions. */
  readonly #sessions = new OwnConnections();
  readonly #owner: StreamOwner = {
    trapMs: () => this.#streams.trapMs,
    away: (stream, isAway) => this.#streams.away(stream, isAway),
    trapped: (error) => this.#options.onError(error),
    ended: (stream, ending) => this.#release(stream, ending),
  };

  readonly #callers: PrincipalQuota;
  #opening = 0;
  #isClosing = false;
  #isDraining = false;

  constructor(options: StreamManagerOptions) {
    this.#options = options;
    this.#streams = new StreamRegistry(options.timeouts.authorizeMs);
    this.#callers = new PrincipalQuota(options.limits);
    this.#fanout = options.bus.hold === undefined ? this.#fanoutOn(options.bus) : undefined;
  }

  /** The statistics of the streams, including those of their attachments to the bus. */
  get stats(): Omit<ListenStats, 'refused'> {
    const stats = { ...this.#streams.stats, away: 0, gaps: 0, healed: 0, outages: 0, resyncs: 0 };
    for (const tally of [this.#options.bus.tally, this.#sessions.tally]) {
      const { away = 0, gaps = 0, healed = 0, outages = 0, resyncs = 0 } = tally ?? {};
      stats.away += away;
      stats.gaps += gaps;
      stats.healed += healed;
      stats.outages += outages;
      stats.resyncs += resyncs;
    }
    return stats;
  }

  /** Whether no stream is open or opening, and new ones are accepted. */
  get isIdle(): boolean {
    return this.#streams.size + this.#opening === 0 && !this.#isClosing && !this.#isDraining;
  }

  /**
   * Returns why the caller cannot open another stream now; undefined if it can. `names` is the
   * number of bytes that the names of the stream count.
   */
  refusal(asker: CallerContext, names = 0): Refusal | undefined {
    if (this.#isClosing || this.#isDraining) return Refusal.Closing;
    if (isAskedAgain(this.#granting) && this.#areTooLarge(asker.request.headers))
      return Refusal.HeadersTooLarge;
    if (this.#streams.size + this.#opening >= this.#options.limits.maxSubscriptions)
      return Refusal.TooManyStreams;
    return this.#callers.refusal(asker, names);
  }

  /** Ends all streams gracefully and opens no more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#streams.close(this.#settle?.().then((isSettled) => isSettled || this.#doubt()));
  }

  /**
   * Ends the `count` oldest streams one after the other, or all of them. If all, opens no more.
   */
  async drain(windowMs: number, count: number | undefined): Promise<void> {
    this.#isDraining ||= count === undefined;
    await this.#streams.drain(windowMs, count, this.#settle);
  }

  /**
   * Opens the stream that answers a listen request. `permit` is the filter that the caller may
   * receive, as JSON text.
   */
  async open(
    core: Exchange,
    permit: string | undefined,
    asker: CallerContext,
  ): Promise<Response | Refusal> {
    const opened = await this.#openFor(asker, core.names(scopeOf(asker)), (request, rest) =>
      this.#options.discovery.use(request, rest, (known) =>
        this.#openingOf(core, known, permit, asker),
      ),
    );
    return typeof opened === 'number' ? opened : opened.response();
  }

  /**
   * Opens a stream whose output stays in this process: `into` takes it. `known` says what it may
   * subscribe to, and `scope` which restricted events it receives, as JSON text.
   */
  async openInto(
    core: Exchange,
    { ended, grant, known, scope, take }: InnerStream,
    asker: CallerContext,
  ): Promise<ServerStream | Refusal> {
    const owner: StreamOwner = {
      ...this.#owner,
      ended: (stream, ending) => {
        this.#owner.ended(stream, ending);
        ended(ending);
      },
    };
    const made = (): Stream =>
      core.open(known, undefined, scope, this.#keepAliveMs(), performance.now(), this.#tally);
    const opened = await this.#openFor(asker, core.names(scope), async () =>
      this.#openingFor(calling(made), asker, owner, grant),
    );
    if (typeof opened !== 'number') opened.into(take);
    return opened;
  }

  /**
   * Opens a stream for a caller, once the bus has confirmed it. `names` is the number of bytes that
   * its names count; `make` returns the stream of the core and what belongs to it.
   */
  async #openFor(
    asker: CallerContext,
    names: number,
    make: (request: Request, rest: unknown[]) => Promise<Opening>,
  ): Promise<ServerStream | Refusal> {
    const refusal = this.refusal(asker, names);
    if (refusal !== undefined) return refusal;
    this.#opening += 1;
    const seat = this.#callers.enter(asker, names);
    try {
      const stream = await this.#opened(asker, make);
      this.#hold(stream, seat, this.#options.witness.opened('listen', asker.request));
      return stream;
    } catch (error) {
      this.#callers.leave(seat);
      // A client that disconnected while its stream was opening is not an error, and receives no
      // response.
      if (!asker.request.signal.aborted) this.#options.onError(error as Error);
      if ((error as Partial<ListenError>).code === 'bus-full') return Refusal.TooManyStreams;
      return this.#isClosing ? Refusal.Closing : Refusal.Unavailable;
    } finally {
      this.#opening -= 1;
    }
  }

  /** Opens the stream of a session for its caller. */
  async openSession(core: Exchange, asker: CallerContext): Promise<ServerStream | Refusal> {
    const refusal = this.refusal(asker);
    if (refusal !== undefined) return refusal;
    this.#opening += 1;
    const seat = this.#callers.enter(asker, 0);
    try {
      const stream = await this.#attached(await this.#joined(core, asker));
      this.#hold(stream, seat, this.#options.witness.opened('session', asker.request));
      return stream;
    } catch (error) {
      this.#callers.leave(seat);
      throw error;
    } finally {
      this.#opening -= 1;
    }
  }

  async #opened(
    { args, request }: CallerContext,
    make: (request: Request, rest: unknown[]) => Promise<Opening>,
  ): Promise<ServerStream> {
    const { bus, intervals, timeouts } = this.#options;
    const { attachMs } = timeouts;
    if (bus.hold === undefined)
      await withTimeout(patienceOf(attachMs), bus.ready?.(), attachTimeout);
    const opening = await make(request, args);
    const joining = {
      attachMs,
      busProbeIntervalMs: jittered(intervals.busProbeIntervalMs),
      continent: continentOf(request),
    };
    const stream = this.#fanout?.open(opening) ?? (await bus.hold?.(opening, joining));
    if (stream === undefined) throw new ListenError('bus-unavailable', 'the bus holds no streams');
    return this.#attached(stream);
  }

  /** Waits until the bus has confirmed the stream. Aborts the stream if the bus does not. */
  async #attached(stream: ServerStream): Promise<ServerStream> {
    try {
      await withTimeout(
        patienceOf(this.#options.timeouts.attachMs),
        stream.attached,
        attachTimeout,
      );
      return stream;
    } catch (error) {
      stream.abort();
      throw error;
    }
  }

  async #joined(core: Exchange, asker: CallerContext): Promise<ServerStream> {
    const { bus, intervals, onError, timeouts } = this.#options;
    const { tally } = this.#streams;
    const stream = calling(() =>
      core.openSession(scopeOf(asker), this.#keepAliveMs(), performance.now(), tally),
    );
    const of = { continent: continentOf(asker.request) };
    const connect = (frame: string, link: AttachmentListener): BusConnection => {
      const connection = bus.connect?.(frame, link, of);
      if (connection === undefined)
        throw new ListenError('bus-unavailable', 'the bus serves no sessions');
      return connection;
    };
    await withTimeout(patienceOf(timeouts.attachMs), bus.ready?.(), attachTimeout);
    return this.#sessions.open(this.#ownOpening(stream, asker), {
      connect,
      waitUntil: (what) => bus.waitUntil?.(what),
      attachMs: timeouts.attachMs,
      busProbeIntervalMs: jittered(intervals.busProbeIntervalMs),
      isApart: !host.fansOut,
      onError,
      onLog: () => {},
      onRefused: onError,
    });
  }

  #openingOf(
    core: Exchange,
    known: Discovered,
    permit: string | undefined,
    asker: CallerContext,
  ): Opening {
    const made = (): Stream =>
      core.open(known, permit, scopeOf(asker), this.#keepAliveMs(), performance.now(), this.#tally);
    return this.#ownOpening(calling(made), asker);
  }

  #ownOpening(stream: Stream, asker: CallerContext): Opening {
    return this.#openingFor(stream, asker, this.#owner, this.#grant(asker));
  }

  #openingFor(
    stream: Stream,
    asker: CallerContext,
    owner: StreamOwner,
    grant: Reauthorizer | undefined,
  ): Opening {
    const { intervals, timeouts } = this.#options;
    return {
      stream,
      owner,
      writeMs: timeouts.writeMs,
      maxConnectionAgeMs: jittered(intervals.maxConnectionAgeMs),
      expiresAt: asker.expiresAt,
      grant,
      signal: asker.request.signal,
    };
  }

  /**
   * Resolves with whether streams have received in time everything that was published before;
   * undefined if nothing can be pending.
   */
  get #settle(): (() => Promise<boolean>) | undefined {
    const { bus } = this.#options;
    if (bus.settle === undefined && this.#sessions.isEmpty) return undefined;
    return async () => {
      try {
        const settled = Promise.all([bus.settle?.(), this.#sessions.settle()]).then(() => {});
        await withTimeout(SETTLE_MS, settled, lateAnswer);
        return true;
      } catch {
        return false;
      }
    };
  }

  /**
   * Handles events that the bus did not deliver in time as lost. Streams of named callers end at
   * once.
   */
  #doubt(): false {
    this.#fanout?.lastDoubt();
    this.#sessions.lastDoubt();
    return false;
  }

  #fanoutOn({ feed }: AttachableBus): FanoutDriver | undefined {
    if (feed === undefined) return undefined;
    const streams: FanoutDriver = new FanoutDriver({
      make: () => new Fanout(),
      isApart: !host.fansOut,
      begin: () => feed.call(this.#options.bus, streams),
      onError: this.#options.onError,
    });
    return streams;
  }

  get #tally(): Tally {
    return this.#streams.tally;
  }

  get #granting(): ReauthorizeOptions {
    const { authorizing, intervals, naming } = this.#options;
    return { authorizing, naming, ms: intervals.authorizationTtlMs };
  }

  #grant(asker: CallerContext): Reauthorizer | undefined {
    return reauthorizerOf(this.#granting, asker);
  }

  /** Returns whether the header fields exceed the bytes that a stream may keep of its request. */
  #areTooLarge(headers: Headers): boolean {
    let left = this.#options.limits.headerBytes;
    for (const [name, value] of headers) left -= name.length + value.length;
    return left < 0;
  }

  #keepAliveMs(): number {
    return jittered(this.#options.intervals.keepAliveMs);
  }

  #release(stream: ServerStream, ending: StreamEnding): void {
    this.#streams.release(stream, ending);
    this.#callers.release(stream);
  }

  #hold(stream: ServerStream, seat: Seat, witness: StreamSpan | undefined): void {
    this.#streams.hold(stream, witness);
    this.#callers.hold(stream, seat);
    if (this.#isDraining) stream.retire(performance.now(), Retirement.Drained);
    if (this.#isClosing) stream.close();
  }
}

function lateAnswer(): ListenError {
  return new ListenError('bus-lost', 'the bus did not answer in time');
}

function attachTimeout(): ListenError {
  return new ListenError('attach-timeout', 'the bus did not answer in time');
}
