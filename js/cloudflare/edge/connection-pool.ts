import type { AttachmentCounters, AttachOptions } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { Listeners } from '../../bus/operator/operator.js';
import type { StreamLogger } from '../../observe/log.js';
import {
  type FanoutStream,
  type Member,
  type OwnConnectionOptions,
  OwnConnections,
  SharedConnection,
  UpstreamCounters,
} from '../../streams/index.js';
import { withTimeout } from '../../timing/with-timeout.js';
import type { Stream } from '../../wasm/server/bindings.js';
import { BusSocket } from './bus-socket.js';
import type { BusConnector } from './connector.js';
import { canWriteAcross } from './write-probe.js';

/** Options of a {@link ConnectionPool}. */
export interface ConnectionPoolOptions {
  connector: BusConnector;
  onError: (error: Error) => void;
  onLog: StreamLogger;
  /** How streams reach the bus: see `durableObjectBus`. */
  sockets: 'auto' | 'shared' | 'each';
}

/**
 * The connections of one isolate to a bus: one shared connection for each continent, because the
 * streams of a continent may be at another shard, and those of streams that do not share one.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #shared = new Map<string, SharedConnection>();
  readonly #counters = new UpstreamCounters();
  readonly #own = new OwnConnections(this.#counters);
  /** Whether one request can write to the stream of another; undefined until it is known. */
  #canShare: boolean | undefined;
  #probe: Promise<boolean> | undefined;
  /** When the probe began, on the clock of `performance.now()`. */
  #probedAt = 0;
  /** The number of probes that have ended. */
  #probes = 0;

  constructor(options: ConnectionPoolOptions) {
    const { sockets } = options;
    this.#options = options;
    this.#canShare = sockets === 'auto' ? undefined : sockets === 'shared';
  }

  /** Counters of the streams of all connections. */
  get counters(): Required<AttachmentCounters> {
    const shared = [...this.#shared.values()];
    const away = shared.reduce((sum, connection) => sum + connection.away, this.#own.away);
    return { ...this.#counters.sums, away };
  }

  /** Returns the topics of each connection, see {@link SharedConnection.listeners}. */
  listeners(max: number, hasCallers: boolean): Listeners {
    const shared = [...this.#shared.values()];
    return [this.#own, ...shared].flatMap((connection) => connection.listeners(max, hasCallers));
  }

  /** Settles the streams of all connections, see {@link SharedConnection.settle}. */
  async settle(): Promise<void> {
    const shared = [...this.#shared.values()];
    await Promise.all([this.#own, ...shared].map((connections) => connections.settle()));
  }

  /**
   * Opens a stream on a shared connection, or on its own connection if sharing does not work here.
   */
  async open(opening: Opening, options: AttachOptions): Promise<FanoutStream> {
    const canShare = this.#canShare;
    const { busProbeIntervalMs } = options;
    const connection = canShare === false ? undefined : this.#connectionFor(options);
    if (connection?.hasRoomFor(opening.stream) !== true) return this.#openOwn(opening, options);
    const { owner } = connection;
    // The first stream needs a socket anyway, so it needs no probe.
    if (canShare === true || owner === undefined)
      return connection.open(opening, busProbeIntervalMs);
    const canWrite = await this.#probeResult(owner.member);
    return canWrite
      ? this.#connectionFor(options).open(opening, busProbeIntervalMs)
      : this.#openOwn(opening, options);
  }

  /**
   * Returns the result of the current probe, which this starts if none runs; false if it takes too
   * long.
   */
  #probeResult(owner: Member): Promise<boolean> {
    const now = performance.now();
    // Workers may drop the request that runs it.
    const isOver = now - this.#probedAt >= PROBE_WAIT_MS;
    if (this.#probe === undefined || isOver) {
      this.#probedAt = now;
      this.#probe = this.#runProbe(owner);
    }
    const late = () => new Error('the probe takes too long');
    return withTimeout(PROBE_WAIT_MS, this.#probe, late).catch(() => false);
  }

  /**
   * Runs a probe. A failure proves nothing if the owner left meanwhile or if it is one of the
   * first probes: then a later stream tries again.
   */
  async #runProbe(owner: Member): Promise<boolean> {
    const canWrite = await canWriteAcross(owner);
    this.#probes += 1;
    this.#probe = undefined;
    const isProven = canWrite || (!owner.isGone && this.#probes >= MAX_PROBES);
    if (isProven && this.#canShare === undefined) this.#decide(canWrite);
    return canWrite;
  }

  /** Sets whether streams share a socket from now on, and logs a change. */
  #decide(canShare: boolean): void {
    if (this.#canShare === canShare) return;
    this.#canShare = canShare;
    this.#options.onLog({ event: 'sockets', sockets: canShare ? 'shared' : 'each' });
  }

  #connectionFor(options: AttachOptions): SharedConnection {
    const { continent = '' } = options;
    const known = this.#shared.get(continent);
    if (known?.isCurrent === true) return known;
    const connection = this.#create(options);
    this.#shared.set(continent, connection);
    return connection;
  }

  #openOwn(opening: Opening, options: AttachOptions): FanoutStream {
    return this.#own.open(opening, this.#connectionOptions(options));
  }

  #create(attach: AttachOptions): SharedConnection {
    const options = this.#connectionOptions(attach);
    return new SharedConnection({
      ...options,
      counters: this.#counters,
      isShared: true,
      onMoved: (stream: FanoutStream, moved: Stream) => this.#own.adopt(stream, moved, options),
      onEmpty: () => {},
    });
  }

  #connectionOptions({
    attachMs,
    continent = '',
    busProbeIntervalMs,
  }: AttachOptions): OwnConnectionOptions {
    const { connector, onError, onLog } = this.#options;
    return {
      ...{ attachMs, busProbeIntervalMs, onError, onLog },
      hasOwnContexts: true,
      connect: (frame, listener) =>
        new BusSocket(connector, { continent, isSession: false }, frame, listener),
      waitUntil: connector.waitUntil,
      onRefused: (error) => {
        this.#decide(false);
        onError(error);
      },
    };
  }
}

/** Milliseconds that a stream waits for the probe before it opens its own connection. */
const PROBE_WAIT_MS = 1_500;
/** The number of probes after which a failure is final. */
const MAX_PROBES = 3;
