import type { AttachmentCounters } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout-stream.js';
import type { ConnectionOptions } from './options.js';
import { SharedConnection } from './shared-connection.js';

/** Options of the connection of one stream. */
export type OwnConnectionOptions = Omit<ConnectionOptions, 'isShared' | 'onParted' | 'onEmpty'>;

/** The connections of streams that do not share theirs. */
export class OwnConnections {
  readonly #lines = new Set<SharedConnection>();
  /** The counters of connections that have ended. */
  readonly #past = { away: 0, outages: 0, healed: 0, gaps: 0, resyncs: 0 };

  /** The counters of all streams. */
  get tally(): Required<AttachmentCounters> {
    const sum = { ...this.#past };
    for (const line of this.#lines) addTally(sum, line);
    return sum;
  }

  /** Whether there are no streams. */
  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** Calls {@link SharedConnection.settle} on all connections. */
  async settle(): Promise<void> {
    await Promise.all([...this.#lines].map((line) => line.settle()));
  }

  /** Calls {@link SharedConnection.lastDoubt} on all connections. */
  lastDoubt(): void {
    for (const line of this.#lines) line.lastDoubt();
  }

  /**
   * Opens a stream in the current request context, which has to be its own.
   *
   * @throws ListenError as `FanoutDriver.open`.
   */
  open(opening: Opening, options: OwnConnectionOptions): FanoutStream {
    const line = this.#line(options);
    try {
      return line.open(opening, options.busProbeIntervalMs);
    } catch (error) {
      line.end();
      throw error;
    }
  }

  /** Takes over a stream that has left another connection. */
  adopt(stream: FanoutStream, parted: Stream, options: OwnConnectionOptions): void {
    this.#line(options).adopt(stream, parted);
  }

  #line(options: OwnConnectionOptions): SharedConnection {
    const line = new SharedConnection({
      ...options,
      isShared: false,
      // Its only stream never moves to another connection.
      onParted: () => {},
      onEmpty: (line) => {
        if (this.#lines.delete(line)) addTally(this.#past, line);
      },
    });
    this.#lines.add(line);
    return line;
  }
}

/** Adds the counters of a connection to a sum. */
export function addTally(sum: Required<AttachmentCounters>, { tally }: SharedConnection): void {
  sum.away += tally.away;
  sum.outages += tally.outages;
  sum.healed += tally.healed;
  sum.gaps += tally.gaps;
  sum.resyncs += tally.resyncs ?? 0;
}
