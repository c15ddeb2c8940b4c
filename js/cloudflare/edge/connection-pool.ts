import type { AttachmentCounters, AttachOptions } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { StreamLogger } from '../../observe/log.js';
import type { Member } from '../../streams/connection/member.js';
import {
  addTally,
  type OwnConnectionOptions,
  OwnConnections,
} from '../../streams/connection/own-connections.js';
import { SharedConnection } from '../../streams/connection/shared-connection.js';
import type { FanoutStream } from '../../streams/fanout-stream.js';
import type { Stream } from '../../wasm/server/bindings.js';
import { BusSocket } from './bus-socket.js';
import type { BusConnector } from './connector.js';
import { canWriteAcross } from './write-probe.js';

/** Options of a {@link ConnectionPool}. */
export interface ConnectionPoolOptions {
  doors: BusConnector;
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
  readonly #lines = new Map<string, SharedConnection>();
  readonly #alone = new OwnConnections();
  /** Counters of the connections that were replaced. */
  readonly #past = { away: 0, outages: 0, healed: 0, gaps: 0, resyncs: 0 };
  /** Whether one request can write to the stream of another; undefined until it is known. */
  #verdict: boolean | undefined;
  #trial: Promise<boolean> | undefined;
  #trials = 0;

  constructor(options: ConnectionPoolOptions) {
    const { sockets } = options;
    this.#options = options;
    this.#verdict = sockets === 'auto' ? undefined : sockets === 'shared';
  }

  /** Counters of the streams of all connections. */
  get tally(): Required<AttachmentCounters> {
    const sum = this.#alone.tally;
    for (const [name, count] of Object.entries(this.#past)) sum[name as keyof typeof sum] += count;
    for (const line of this.#lines.values()) addTally(sum, line);
    return sum;
  }

  /** Settles the streams of all connections, see {@link SharedConnection.settle}. */
  async settle(): Promise<void> {
    const shared = [...this.#lines.values()];
    await Promise.all([this.#alone, ...shared].map((lines) => lines.settle()));
  }

  /**
   * Opens a stream on a shared connection, or on its own connection if sharing does not work here.
   */
  async open(opening: Opening, joining: AttachOptions): Promise<FanoutStream> {
    const verdict = this.#verdict;
    const { busProbeIntervalMs } = joining;
    const line = verdict === false ? undefined : this.#line(joining);
    if (line?.hasRoomFor(opening.stream) !== true) return this.#openAlone(opening, joining);
    const { holder } = line;
    // The first stream needs a socket anyway, so it needs no trial.
    if (verdict === true || holder === undefined) return line.open(opening, busProbeIntervalMs);
    const works = await this.#try(holder.member);
    return works
      ? this.#line(joining).open(opening, busProbeIntervalMs)
      : this.#openAlone(opening, joining);
  }

  /**
   * Returns the result of the current trial, which this starts if none runs; false if it takes too
   * long.
   */
  async #try(holder: Member): Promise<boolean> {
    this.#trial ??= this.#judge(holder);
    let late: ReturnType<typeof setTimeout> | null = null;
    const tooLate = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), PATIENCE_MS);
    });
    const works = await Promise.race([this.#trial, tooLate]);
    clearTimeout(late);
    return works;
  }

  /**
   * Runs a trial. A failure proves nothing if the owner left meanwhile or if it is one of the first
   * trials: then a later stream tries again.
   */
  async #judge(holder: Member): Promise<boolean> {
    this.#trials += 1;
    const works = await canWriteAcross(holder);
    this.#trial = undefined;
    if (works || (!holder.isGone && this.#trials >= MAX_TRIALS)) this.#verdict ??= works;
    return works;
  }

  #line(joining: AttachOptions): SharedConnection {
    const { continent = '' } = joining;
    const known = this.#lines.get(continent);
    if (known?.isCurrent === true) return known;
    if (known !== undefined) addTally(this.#past, known);
    const line = this.#made(joining);
    this.#lines.set(continent, line);
    return line;
  }

  #openAlone(opening: Opening, joining: AttachOptions): FanoutStream {
    return this.#alone.open(opening, this.#connecting(joining));
  }

  #made(joining: AttachOptions): SharedConnection {
    const options = this.#connecting(joining);
    return new SharedConnection({
      ...options,
      isShared: true,
      onParted: (stream: FanoutStream, parted: Stream) =>
        this.#alone.adopt(stream, parted, options),
      onEmpty: () => {},
    });
  }

  #connecting({
    attachMs,
    continent = '',
    busProbeIntervalMs,
  }: AttachOptions): OwnConnectionOptions {
    const { doors, onError, onLog } = this.#options;
    return {
      ...{ attachMs, busProbeIntervalMs, onError, onLog },
      isApart: true,
      connect: (frame, link) => new BusSocket(doors, { continent, isSession: false }, frame, link),
      waitUntil: doors.waitUntil,
      onRefused: (error) => {
        this.#verdict = false;
        onError(error);
      },
    };
  }
}

/** Milliseconds that a stream waits for the trial before it opens its own connection. */
const PATIENCE_MS = 1_500;
const MAX_TRIALS = 3;
