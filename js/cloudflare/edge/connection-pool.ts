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

/** What the lines of an isolate need. */
export interface ConnectionPoolOptions {
  doors: BusConnector;
  onError: (error: Error) => void;
  onLog: StreamLogger;
  /** How streams reach the bus: see `durableObjectBus`. */
  sockets: 'auto' | 'shared' | 'each';
}

/** The lines of one isolate to a bus: one for each continent, for the streams of one may be at a shard of their own, and those of streams that are alone. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #lines = new Map<string, SharedConnection>();
  readonly #alone = new OwnConnections();
  /** What those went through that are no more. */
  readonly #past = { away: 0, outages: 0, healed: 0, gaps: 0, resyncs: 0 };
  /** Whether one request can write to the stream of another; undefined: it is not known yet. */
  #verdict: boolean | undefined;
  #trial: Promise<boolean> | undefined;
  #trials = 0;

  constructor(options: ConnectionPoolOptions) {
    const { sockets } = options;
    this.#options = options;
    this.#verdict = sockets === 'auto' ? undefined : sockets === 'shared';
  }

  /** How the streams of all lines fared. */
  get tally(): Required<AttachmentCounters> {
    const sum = this.#alone.tally;
    for (const [name, count] of Object.entries(this.#past)) sum[name as keyof typeof sum] += count;
    for (const line of this.#lines.values()) addTally(sum, line);
    return sum;
  }

  /** As of {@link SharedConnection.settle}, for the streams of all lines. */
  async settle(): Promise<void> {
    const shared = [...this.#lines.values()];
    await Promise.all([this.#alone, ...shared].map((lines) => lines.settle()));
  }

  /** Opens a stream on a line that it shares, or on one of its own where lines do not work here. */
  async open(opening: Opening, joining: AttachOptions): Promise<FanoutStream> {
    const verdict = this.#verdict;
    const { busProbeIntervalMs } = joining;
    const line = verdict === false ? undefined : this.#line(joining);
    if (line?.hasRoomFor(opening.stream) !== true) return this.#openAlone(opening, joining);
    const { holder } = line;
    // The first stream holds the socket that it would have anyway.
    if (verdict === true || holder === undefined) return line.open(opening, busProbeIntervalMs);
    const works = await this.#try(holder.member);
    return works
      ? this.#line(joining).open(opening, busProbeIntervalMs)
      : this.#openAlone(opening, joining);
  }

  /** What the trial says that runs, or begins now; false where it says nothing in time. */
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

  /** A holder that left meanwhile has shown nothing, and neither has a trial that took too long: it is tried again, some times. */
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

/** Milliseconds that a stream waits for the trial; then it goes alone. */
const PATIENCE_MS = 1_500;
const MAX_TRIALS = 3;
