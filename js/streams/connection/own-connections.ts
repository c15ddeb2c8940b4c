import type { AttachmentCounters } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { Listeners } from '../../bus/operator/operator.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout/stream.js';
import type { ConnectionOptions } from './options.js';
import { SharedConnection } from './shared-connection.js';
import { UpstreamCounters } from './upstream-counters.js';

/** Options of the connection of one stream. */
export type OwnConnectionOptions = Omit<
  ConnectionOptions,
  'counters' | 'isShared' | 'onMoved' | 'onEmpty'
>;

/** The connections of streams that do not share theirs. */
export class OwnConnections {
  readonly #connections = new Set<SharedConnection>();
  readonly #counters: UpstreamCounters;

  constructor(counters = new UpstreamCounters()) {
    this.#counters = counters;
  }

  /** The counters of all streams. */
  get counters(): Required<AttachmentCounters> {
    return { ...this.#counters.sums, away: this.away };
  }

  /** The number of streams whose bus is unavailable. */
  get away(): number {
    return [...this.#connections].filter((connection) => connection.away > 0).length;
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
  adopt(stream: FanoutStream, moved: Stream, options: OwnConnectionOptions): void {
    this.#create(options).adopt(stream, moved);
  }

  #create(options: OwnConnectionOptions): SharedConnection {
    const connection = new SharedConnection({
      ...options,
      counters: this.#counters,
      isShared: false,
      // Its only stream never moves to another connection.
      onMoved: () => {},
      onEmpty: () => {
        this.#connections.delete(connection);
      },
    });
    this.#connections.add(connection);
    return connection;
  }
}
