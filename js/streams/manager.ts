import type { CallerContext } from '../auth/authorize.js';
import { callerId } from '../auth/caller-id.js';
import type { AttachableBus, AttachmentListener, BusConnection } from '../bus/attachable-bus.js';
import type { Opening, StreamOwner } from '../bus/opening.js';
import { listenersOf } from '../bus/operator/listeners.js';
import type { Listeners } from '../bus/operator/operator.js';
import type { ServerStream } from '../bus/server-stream.js';
import type { Discovery } from '../handler/discovery.js';
import { calling, ListenError } from '../model/error.js';
import { host } from '../model/host-profile.js';
import type { ListenLimits } from '../model/limits.js';
import type { EndReason, ListenStats } from '../model/stats/listen.js';
import { DRAIN_SETTLE_MS, finiteTimeout, jittered, SETTLE_MS } from '../model/timeouts.js';
import type { StreamObserver, StreamSpan } from '../observe/stream-observer.js';
import { withTimeout } from '../timing/with-timeout.js';
import {
  type Discovered,
  type Exchange,
  Fanout,
  Refusal,
  Retirement,
  type Stream,
  type StreamMetrics,
} from '../wasm/server/bindings.js';
import { OwnConnections } from './connection/own-connections.js';
import { FanoutDriver } from './fanout/driver.js';
import type { InnerStream } from './inner/stream.js';
import { continentOf, exceed, scopeOf } from './opening/caller.js';
import { Granting } from './opening/granting.js';
import { OpeningPreparer, type OpeningPreparerOptions } from './opening/preparer.js';
import { PrincipalQuota, type QuotaShare } from './principal-quota.js';
import { StreamRegistry } from './registry.js';

/** Options of a {@link StreamManager}. */
export interface StreamManagerOptions extends OpeningPreparerOptions {
  bus: AttachableBus;
  limits: Required<ListenLimits>;
  /** Observes the streams. */
  observer: StreamObserver;
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

  readonly #quota: PrincipalQuota;
  readonly #preparer: OpeningPreparer;
  #isClosing = false;
  #isDraining = false;

  constructor(options: StreamManagerOptions) {
    this.#options = options;
    this.#streams = new StreamRegistry(options.timeouts.authorizeMs);
    this.#quota = new PrincipalQuota(options.limits);
    this.#preparer = new OpeningPreparer(options);
    this.#fanout = options.bus.openStream === undefined ? this.#fanoutOn(options.bus) : undefined;
  }

  /** The statistics of the streams, including those of their attachments to the bus. */
  get stats(): Omit<ListenStats, 'refused'> {
    const stats = { ...this.#streams.stats, away: 0, gaps: 0, healed: 0, outages: 0, resyncs: 0 };
    for (const counters of [this.#options.bus.counters, this.#sessions.counters])
      for (const counter of COUNTERS) stats[counter] += counters?.[counter] ?? 0;
    return stats;
  }

  /** Returns how many streams a caller holds. */
  readonly streamsOf = (name: string): number => this.#quota.streamsOf(name);

  /** Returns the topics with the most streams, but for those of streams that the bus opened. */
  listeners(max: number, hasCallers: boolean): Listeners {
    const fed = this.#fanout?.core.listeners(max, hasCallers) ?? '[]';
    return [...listenersOf(fed), ...this.#sessions.listeners(max, hasCallers)];
  }

  /** Whether no stream is open or opening, and new ones are accepted. */
  get isIdle(): boolean {
    return this.#streams.size + this.#quota.opening === 0 && !this.#isClosing && !this.#isDraining;
  }

  /**
   * Returns why the caller cannot open another stream now; undefined if it can. `names` is the
   * number of bytes that the names of the stream count.
   */
  refusal(caller: CallerContext, names = 0): Refusal | undefined {
    if (this.#isClosing || this.#isDraining) return Refusal.Closing;
    const { headerBytes } = this.#options.limits;
    if (this.#preparer.isReauthorized && exceed(caller.request.headers, headerBytes))
      return Refusal.HeadersTooLarge;
    if (this.#streams.size + this.#quota.opening >= this.#options.limits.maxSubscriptions)
      return Refusal.TooManyStreams;
    return this.#quota.refusal(caller, names);
  }

  /** Ends all streams gracefully and opens no more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#streams.close(
      this.#settleIn(SETTLE_MS)?.().then((isSettled) => isSettled || this.#assumeLoss()),
    );
  }

  /** Ends the `count` oldest streams in turn, or all of them, and then opens no more. */
  async drain(windowMs: number, count: number | undefined): Promise<void> {
    this.#isDraining ||= count === undefined;
    await this.#streams.drain(windowMs, count, this.#settleIn(DRAIN_SETTLE_MS));
  }

  /**
   * Opens the stream of a listen request. `permit` is the filter that the caller may
   * receive, as JSON text.
   */
  async open(
    core: Exchange,
    permit: string | undefined,
    caller: CallerContext,
  ): Promise<Response | Refusal> {
    const { bus, discovery } = this.#options;
    const granting = new Granting(bus.interest);
    const stream = await this.#openFor(caller, core.names(scopeOf(caller)), (request, rest) =>
      granting.granted(
        discovery.use(request, rest, (known) => this.#openingOf(core, known, permit, caller)),
        callerId(caller),
      ),
    );
    if (typeof stream !== 'number') return stream.response();
    granting.release();
    return stream;
  }

  /**
   * Opens a stream whose output stays in this process: `onChunk` receives it. `known` says what the
   * stream may subscribe to, and `scope` which restricted events it receives, as JSON text.
   */
  async openInto(
    core: Exchange,
    { known, onChunk, onEnd, reauthorizer, scope }: InnerStream,
    caller: CallerContext,
  ): Promise<ServerStream | Refusal> {
    const owner: StreamOwner = {
      ...this.#owner,
      ended: (stream, ending) => {
        this.#owner.ended(stream, ending);
        onEnd(ending);
      },
    };
    const create = (): Stream =>
      core.open(
        known,
        undefined,
        scope,
        this.#preparer.keepAliveMs(),
        performance.now(),
        this.#metrics,
      );
    const stream = await this.#openFor(caller, core.names(scope), async () =>
      this.#preparer.prepare(calling(create), caller, owner, reauthorizer),
    );
    if (typeof stream !== 'number') stream.into(onChunk);
    return stream;
  }

  /**
   * Opens a stream for a caller, and waits until the bus has confirmed it. `names` is the number of
   * bytes of its names; `prepare` returns the stream of the core with its options.
   */
  async #openFor(
    caller: CallerContext,
    names: number,
    prepare: (request: Request, rest: unknown[]) => Promise<Opening>,
  ): Promise<ServerStream | Refusal> {
    const refusal = this.refusal(caller, names);
    if (refusal !== undefined) return refusal;
    const share = this.#quota.reserve(caller, names);
    const since = performance.now();
    try {
      const stream = await this.#opened(caller, prepare);
      this.#streams.acknowledged(performance.now() - since);
      this.#add(stream, share, this.#options.observer.opened('listen', caller.request));
      return stream;
    } catch (error) {
      this.#quota.free(share);
      // A client that disconnected while its stream was opening is not an error, and receives no
      // response.
      if (!caller.request.signal.aborted) this.#options.onError(error as Error);
      if ((error as Partial<ListenError>).code === 'bus-full') return Refusal.TooManyStreams;
      return this.#isClosing ? Refusal.Closing : Refusal.Unavailable;
    }
  }

  /** Opens the stream of a session for its caller. */
  async openSession(core: Exchange, caller: CallerContext): Promise<ServerStream | Refusal> {
    const refusal = this.refusal(caller);
    if (refusal !== undefined) return refusal;
    const share = this.#quota.reserve(caller, 0);
    try {
      const stream = await this.#attached(await this.#openedSession(core, caller));
      this.#add(stream, share, this.#options.observer.opened('session', caller.request));
      return stream;
    } catch (error) {
      this.#quota.free(share);
      throw error;
    }
  }

  async #opened(
    { args, request }: CallerContext,
    prepare: (request: Request, rest: unknown[]) => Promise<Opening>,
  ): Promise<ServerStream> {
    const { bus, intervals, timeouts } = this.#options;
    const { attachMs } = timeouts;
    if (bus.openStream === undefined)
      await withTimeout(finiteTimeout(attachMs), bus.ready?.(), attachTimeout);
    const opening = await prepare(request, args);
    const attachOptions = {
      attachMs,
      busProbeIntervalMs: jittered(intervals.busProbeIntervalMs),
      continent: continentOf(request),
    };
    const stream = this.#fanout?.open(opening) ?? (await bus.openStream?.(opening, attachOptions));
    if (stream === undefined)
      throw new ListenError('bus-unavailable', 'the bus does not support streams');
    return this.#attached(stream);
  }

  /** Waits until the bus has confirmed the stream. Aborts the stream if the bus does not. */
  async #attached(stream: ServerStream): Promise<ServerStream> {
    try {
      await withTimeout(
        finiteTimeout(this.#options.timeouts.attachMs),
        stream.attached,
        attachTimeout,
      );
      return stream;
    } catch (error) {
      stream.abort();
      throw error;
    }
  }

  async #openedSession(core: Exchange, caller: CallerContext): Promise<ServerStream> {
    const { bus, intervals, onError, timeouts } = this.#options;
    const { metrics } = this.#streams;
    const stream = calling(() =>
      core.openSession(scopeOf(caller), this.#preparer.keepAliveMs(), performance.now(), metrics),
    );
    const options = { continent: continentOf(caller.request) };
    const connect = (frame: string, listener: AttachmentListener): BusConnection => {
      const connection = bus.connect?.(frame, listener, options);
      if (connection === undefined)
        throw new ListenError('bus-unavailable', 'the bus does not support sessions');
      return connection;
    };
    await withTimeout(finiteTimeout(timeouts.attachMs), bus.ready?.(), attachTimeout);
    return this.#sessions.open(this.#ownOpening(stream, caller), {
      connect,
      waitUntil: (what) => bus.waitUntil?.(what),
      attachMs: timeouts.attachMs,
      busProbeIntervalMs: jittered(intervals.busProbeIntervalMs),
      hasOwnContexts: !host.fansOut,
      onError,
      onLog: () => {},
      onRefused: onError,
    });
  }

  #openingOf(
    core: Exchange,
    known: Discovered,
    permit: string | undefined,
    caller: CallerContext,
  ): Opening {
    const create = (): Stream =>
      core.open(
        known,
        permit,
        scopeOf(caller),
        this.#preparer.keepAliveMs(),
        performance.now(),
        this.#metrics,
      );
    return this.#ownOpening(calling(create), caller);
  }

  #ownOpening(stream: Stream, caller: CallerContext): Opening {
    const reauthorizer = this.#preparer.reauthorizer(caller);
    return this.#preparer.prepare(stream, caller, this.#owner, reauthorizer);
  }

  /**
   * Returns what resolves with whether streams have received everything that was published before,
   * within `ms` milliseconds; undefined if nothing can be pending.
   */
  #settleIn(ms: number): (() => Promise<boolean>) | undefined {
    const { bus } = this.#options;
    if (bus.settle === undefined && this.#sessions.isEmpty) return undefined;
    return async () => {
      try {
        const settled = Promise.all([bus.settle?.(), this.#sessions.settle()]).then(() => {});
        await withTimeout(ms, settled, attachTimeout);
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
  #assumeLoss(): false {
    this.#fanout?.gap(true);
    this.#sessions.assumeLoss();
    return false;
  }

  #fanoutOn({ subscribeAll }: AttachableBus): FanoutDriver | undefined {
    if (subscribeAll === undefined) return undefined;
    const streams: FanoutDriver = new FanoutDriver({
      make: () => new Fanout(),
      hasOwnContexts: !host.fansOut,
      begin: () => subscribeAll.call(this.#options.bus, streams),
      onError: this.#options.onError,
    });
    return streams;
  }

  get #metrics(): StreamMetrics {
    return this.#streams.metrics;
  }

  #release(stream: ServerStream, ending: EndReason): void {
    this.#streams.release(stream, ending);
    this.#quota.release(stream);
  }

  #add(stream: ServerStream, share: QuotaShare, span: StreamSpan | undefined): void {
    this.#streams.add(stream, span);
    this.#quota.assign(stream, share);
    if (this.#isDraining) stream.retire(performance.now(), Retirement.Drained);
    if (this.#isClosing) stream.close();
  }
}

const COUNTERS = ['away', 'gaps', 'healed', 'outages', 'resyncs'] as const;
const attachTimeout = (): ListenError =>
  new ListenError('attach-timeout', 'the bus did not reply in time');
