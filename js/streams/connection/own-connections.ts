import type { AttachmentCounters } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { Listeners } from '../../bus/operator/operator.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout/stream.js';
import type { ConnectionOptions } from './options.js';
import { SharedConnection } from './shared-connection.js';

/** Options of the connection of one stream. */
export type OwnConnectionOptions = Omit<ConnectionOptions, 'isShared' | 'onParted' | 'onEmpty'>;

/** The connections of streams that do not share theirs. */
export class OwnConnections {
  readonly #connections = new Set<SharedConnection>();
  /** The counters of connections that have ended. */
  readonly #closedCounters = { away: 0, outages: 0, healed: 0, gaps: 0, resyncs: 0 };

  /** The counters of all streams. */
  get counters(): Required<AttachmentCounters> {
    const sum = { ...this.#closedCounters };
    for (const connection of this.#connections) addCounters(sum, connection);
    return sum;
  }

  /** Returns the topics of each connection, see {@link SharedConnection.listeners}. */
  listeners(max: number, hasCallers: boolean): Listeners {
    return [...this.#connections].flatMap((connection) => connection.listeners(max, hasCallers));
  }

  /** Whether there are no streams. */
  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  /** Calls {@link SharedConnection.settle} on all connections. */
  async settle(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.settle()));
  }

  /** Calls {@link SharedConnection.assumeLoss} on all connections. */
  assumeLoss(): void {
    for (const connection of this.#connections) connection.assumeLoss();
  }

  /**
   * Opens a stream in the current request context, which has to be its own.
   *
   * @throws ListenError as `FanoutDriver.open`.
   */
  open(opening: Opening, options: OwnConnectionOptions): FanoutStream {
    const connection = this.#create(options);
    try {
      return connection.open(opening, options.busProbeIntervalMs);
    } catch (error) {
      connection.end();
      throw error;
    }
  }

  /** Takes over a stream that has left another connection. */
  adopt(stream: FanoutStream, parted: Stream, options: OwnConnectionOptions): void {
    this.#create(options).adopt(stream, parted);
  }

  #create(options: OwnConnectionOptions): SharedConnection {
    const connection = new SharedConnection({
      ...options,
      isShared: false,
      // Its only stream never moves to another connection.
      onParted: () => {},
      onEmpty: () => {
        if (this.#connections.delete(connection)) addCounters(this.#closedCounters, connection);
      },
    });
    this.#connections.add(connection);
    return connection;
  }
}

/** Adds the counters of a connection, or of several, to a sum. */
export function addCounters(
  sum: Required<AttachmentCounters>,
  { counters }: { readonly counters: AttachmentCounters },
): void {
  sum.away += counters.away;
  sum.outages += counters.outages;
  sum.healed += counters.healed;
  sum.gaps += counters.gaps;
  sum.resyncs += counters.resyncs ?? 0;
}
