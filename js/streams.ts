import type { ListenStream, StreamEnding, StreamTally } from './stream.js';
import { Retirement } from './wasm.js';

/** What a server's streams are doing, and what they went through since it began. */
export interface ListenStats {
  /** Streams open now. */
  open: number;
  /** Those of them whose bus is away: they stay open, and hear what they missed when it is back. */
  away: number;
  /** How often a stream lost its bus and was attached again. */
  healed: number;
  /** How often something was found missing, out of order or broken between the bus and a stream. */
  gaps: number;
  /** How often nobody could tell what a stream had missed, so that it cued everything it honors. */
  resyncs: number;
  /** How many streams have ended for each reason. */
  ended: Readonly<Record<StreamEnding, number>>;
}

/** The streams that one server holds, and how those ended that it held. */
export class Streams {
  readonly #streams = new Set<ListenStream>();
  readonly #closeMs: number;
  readonly #ended: Record<StreamEnding, number> = {
    ...{ closed: 0, left: 0, stalled: 0, rotated: 0, drained: 0, shed: 0, aborted: 0 },
  };

  readonly #past = { healed: 0, gaps: 0, resyncs: 0 };

  /** @param closeMs - how long readers have to take what is pending when streams are ended. */
  constructor(closeMs: number) {
    this.#closeMs = closeMs;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** What the streams are doing. */
  get stats(): ListenStats {
    const stats = { open: this.#streams.size, away: 0, ...this.#past, ended: { ...this.#ended } };
    for (const { tally } of this.#streams) {
      add(stats, tally);
      stats.away += tally.isAway ? 1 : 0;
    }
    return stats;
  }

  /** Holds a stream until it has ended. */
  hold(stream: ListenStream): void {
    this.#streams.add(stream);
    void stream.ended.then((ending) => {
      this.#streams.delete(stream);
      this.#ended[ending] += 1;
      add(this.#past, stream.tally);
    });
  }

  /** Ends all streams gracefully; resolves when the last one has ended. */
  async close(): Promise<void> {
    const streams = [...this.#streams];
    for (const stream of streams) stream.close();
    await this.#gone(streams, this.#closeMs);
  }

  /** Ends all streams without a result, spread evenly over `windowMs`; resolves when the last one has ended. */
  async drain(windowMs: number): Promise<void> {
    await this.#retire([...this.#streams], windowMs, Retirement.Drained);
  }

  /** Ends the `count` oldest streams as {@link Streams.drain} does. */
  async shed(count: number, windowMs: number): Promise<void> {
    await this.#retire([...this.#streams].slice(0, count), windowMs, Retirement.Shed);
  }

  /** Each stream has its own slice of the window, and a moment of chance within it. */
  async #retire(streams: ListenStream[], windowMs: number, why: Retirement): Promise<void> {
    const slice = windowMs / streams.length;
    const now = performance.now();
    streams.forEach((stream, place) => {
      stream.retire(now + slice * (place + Math.random()), why);
    });
    await this.#gone(streams, windowMs + this.#closeMs);
  }

  /** Waits for streams to end, for so long at most; what then remains is cut off. */
  async #gone(streams: ListenStream[], ms: number): Promise<void> {
    const late = setTimeout(() => {
      for (const stream of streams) stream.abort();
    }, ms);
    await Promise.all(streams.map((stream) => stream.ended));
    clearTimeout(late);
  }
}

type Sums = Omit<StreamTally, 'isAway'>;

function add(sums: Sums, { gaps, healed, resyncs }: Sums): void {
  sums.healed += healed;
  sums.gaps += gaps;
  sums.resyncs += resyncs;
}
