import type { AttachmentCounters } from '../../bus/attachable-bus.js';
import type { Opening } from '../../bus/opening.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout-stream.js';
import type { ConnectionOptions } from './options.js';
import { SharedConnection } from './shared-connection.js';

/** What a line of one stream tells whoever made it. */
export type OwnConnectionOptions = Omit<ConnectionOptions, 'isShared' | 'onParted' | 'onEmpty'>;

/** The lines of streams each of which has a connection of its own. */
export class OwnConnections {
  readonly #lines = new Set<SharedConnection>();
  /** What those went through that are no more. */
  readonly #past = { away: 0, outages: 0, healed: 0, gaps: 0, resyncs: 0 };

  /** How the streams fared. */
  get tally(): Required<AttachmentCounters> {
    const sum = { ...this.#past };
    for (const line of this.#lines) addTally(sum, line);
    return sum;
  }

  /** Whether there is no stream. */
  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** As of {@link SharedConnection.settle}, for all of them. */
  async settle(): Promise<void> {
    await Promise.all([...this.#lines].map((line) => line.settle()));
  }

  /** As of {@link SharedConnection.lastDoubt}, for all of them. */
  lastDoubt(): void {
    for (const line of this.#lines) line.lastDoubt();
  }

  /**
   * Opens a stream, on behalf of its own request.
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

  /** Takes in a stream that another line has parted with. */
  adopt(stream: FanoutStream, parted: Stream, options: OwnConnectionOptions): void {
    this.#line(options).adopt(stream, parted);
  }

  #line(options: OwnConnectionOptions): SharedConnection {
    const line = new SharedConnection({
      ...options,
      isShared: false,
      // Where it is, it is alone.
      onParted: () => {},
      onEmpty: (line) => {
        if (this.#lines.delete(line)) addTally(this.#past, line);
      },
    });
    this.#lines.add(line);
    return line;
  }
}

/** Adds how the streams of a line fared. */
export function addTally(sum: Required<AttachmentCounters>, { tally }: SharedConnection): void {
  sum.away += tally.away;
  sum.outages += tally.outages;
  sum.healed += tally.healed;
  sum.gaps += tally.gaps;
  sum.resyncs += tally.resyncs ?? 0;
}
