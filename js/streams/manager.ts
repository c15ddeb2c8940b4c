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
import type { LoggedStream } from '../observe/log.js';
import type { StreamObserver, StreamSpan } from '../observe/stream-observer.js';
import { withTimeout } from '../timing/with-timeout.js';
import type { PerInstance } from '../wasm/per-instance.js';
import {
  type Exchange,
  Fanout,
  Refusal,
  Retirement,
  type Service,
} from '../wasm/server/bindings.js';
import { ignoringTrap } from '../wasm/server/guard.js';
import { OwnConnections } from './connection/own-connections.js';
import { FanoutDriver } from './fanout/driver.js';
import { continentOf, exceeds, scopeOf } from './opening/caller.js';
import { Granting } from './opening/granting.js';
import type { InnerStream, InnerStreamOptions } from './opening/inner-stream.js';
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
  /** What all requests of the server share in the core. */
  service: PerInstance<Service>;
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
    const { service, timeouts } = options;
    this.#streams = new StreamRegistry(timeouts.authorizeMs, () => service.value.counts);
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
   * Opens the stream of a listen, whose exchange asks to admit it. `inner` receives its output;
   * undefined: a response does.
   */
  async open(
    core: Exchange,
    caller: CallerContext,
    inner?: InnerStream,
  ): Promise<ServerStream | Refusal> {
    const granting = new Granting(inner === undefined ? this.#options.bus.interest : undefined);
    const begin = (authorizedAt: number) =>
      this.#begin(core, caller, granting, { authorizedAt, inner });
    const stream = await this.#admitted('listen', core, caller, begin, inner !== undefined);
    if (typeof stream === 'number') granting.release();
    else {
      granting.keep();
      if (inner !== undefined) stream.into(inner.onChunk);
    }
    return stream;
  }

  /** Opens a stream that the server itself reads. */
  async openInner({
    caller,
    groups,
    uri,
    ...inner
  }: InnerStreamOptions): Promise<ServerStream | Refusal> {
    const core = this.#options.service.value.exchangeOf(uri);
    if (core === undefined) throw new ListenError('internal-error', 'this is no URI of a resource');
    try {
      return await this.open(core, { ...caller, groups: [...groups] }, inner);
    } finally {
      core.free();
    }
  }

  /** Opens the stream of a session, whose exchange asks to admit it. */
  openSession(core: Exchange, caller: CallerContext): Promise<ServerStream | Refusal> {
    return this.#admitted('session', core, caller, (authorizedAt) =>
      this.#beginSession(core, caller, authorizedAt),
    );
  }

  /**
   * Opens a stream of a caller that has just been authorized, if there is room for it, and waits
   * until the bus has confirmed it. `begin` returns the stream. `isInner`: the server itself reads
   * it.
   */
  async #admitted(
    kind: LoggedStream,
    core: Exchange,
    caller: CallerContext,
    begin: (authorizedAt: number) => Promise<ServerStream>,
    isInner = false,
  ): Promise<ServerStream | Refusal> {
    const names = core.names(scopeOf(caller));
    const share = this.#quota.shareOf(caller, names, isInner);
    const refusal = this.#refusal(caller.request, share);
    if (refusal !== undefined) return refusal;
    this.#quota.reserve(share);
    const since = performance.now();
    try {
      core.confirm();
      const stream = await this.#attached(await begin(since));
      if (this.#streams.hasEnded(stream))
        throw new ListenError('bus-lost', 'the stream ended while it was opened');
      if (kind === 'listen') this.#streams.acknowledged(performance.now() - since);
      this.#add(stream, share, this.#options.observer.opened(kind, caller.request));
      return stream;
    } catch (error) {
      this.#quota.free(share);
      if (kind === 'session') throw error;
      // A client that disconnected while its stream was opening is not an error, and receives no
      // response.
      if (!caller.request.signal.aborted) this.#options.onError(error as Error);
      if ((error as Partial<ListenError>).code === 'bus-full') return Refusal.TooManyStreams;
      return this.#isClosing ? Refusal.Closing : Refusal.Unavailable;
    }
  }

  /** Returns why a stream cannot be opened now; undefined if it can. */
  #refusal(request: Request, share: QuotaShare): Refusal | undefined {
    if (this.#isClosing || this.#isDraining) return Refusal.Closing;
    const { headerBytes } = this.#options.limits;
    if (this.#preparer.isReauthorized && exceeds(request, headerBytes))
      return Refusal.HeadersTooLarge;
    if (this.#streams.size + this.#quota.opening >= this.#options.limits.maxSubscriptions)
      return Refusal.TooManyStreams;
    return this.#quota.refusal(share);
  }

  async #begin(
    core: Exchange,
    caller: CallerContext,
    granting: Granting,
    opened: { authorizedAt: number; inner: InnerStream | undefined },
  ): Promise<ServerStream> {
    const { bus, discovery, intervals, timeouts } = this.#options;
    const { args, request } = caller;
    if (bus.openStream === undefined) await this.#ready();
    if (core.poll().kind === 'discover') {
      const { offers, serverInfo } = await discovery.discovered(request, args);
      core.handleDiscovered(offers, serverInfo);
    }
    const made = this.#openingOf(core, caller, opened);
    const opening = await granting.granted(made, callerId(caller));
    if (this.#fanout !== undefined) return this.#fanout.open(opening);
    const stream = await bus.openStream?.(opening, {
      attachMs: timeouts.attachMs,
      busProbeIntervalMs: jittered(intervals.busProbeIntervalMs),
      continent: continentOf(request),
    });
    if (stream === undefined)
      throw new ListenError('bus-unavailable', 'the bus does not support streams');
    return stream;
  }

  async #beginSession(
    core: Exchange,
    caller: CallerContext,
    authorizedAt: number,
  ): Promise<ServerStream> {
    const { bus, intervals, onError, timeouts } = this.#options;
    const opening = this.#openingOf(core, caller, { authorizedAt, inner: undefined });
    const options = { continent: continentOf(caller.request) };
    const connect = (frame: string, listener: AttachmentListener): BusConnection => {
      const connection = bus.connect?.(frame, listener, options);
      if (connection === undefined)
        throw new ListenError('bus-unavailable', 'the bus does not support sessions');
      return connection;
    };
    await this.#ready();
    return this.#sessions.open(opening, {
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

  /** Waits until the bus feeds the streams of this process. */
  async #ready(): Promise<void> {
    const { bus, timeouts } = this.#options;
    await withTimeout(finiteTimeout(timeouts.attachMs), bus.ready?.(), attachTimeout);
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

  /** Creates the stream of an exchange. */
  #openingOf(
    core: Exchange,
    caller: CallerContext,
    { authorizedAt, inner }: { authorizedAt: number; inner: InnerStream | undefined },
  ): Opening {
    const stream = calling(() =>
      core.open(scopeOf(caller), this.#preparer.keepAliveMs(), performance.now()),
    );
    if (inner === undefined) {
      const reauthorizer = this.#preparer.reauthorizer(caller);
      return this.#preparer.prepare(stream, caller, authorizedAt, {
        owner: this.#owner,
        reauthorizer,
      });
    }
    const ended: StreamOwner['ended'] = (ended, ending) => {
      this.#owner.ended(ended, ending);
      inner.onEnd(ending);
    };
    const { reauthorizer } = inner;
    const owner = { ...this.#owner, ended };
    return this.#preparer.prepare(stream, caller, authorizedAt, { owner, reauthorizer });
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
    ignoringTrap(() => {
      this.#fanout?.gap(true);
      this.#sessions.assumeLoss();
    });
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
