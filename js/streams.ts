import type { ListenStream, StreamEnding } from './stream.js';
import { Retirement } from './wasm.js';

/** What a server's streams are doing. */
export interface ListenStats {
  /** Streams open now. */
  open: number;
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
    return { open: this.#streams.size, ended: { ...this.#ended } };
  }

  /** Holds a stream until it has ended. */
  hold(stream: ListenStream): void {
    this.#streams.add(stream);
    void stream.ended.then((ending) => {
      this.#streams.delete(stream);
      this.#ended[ending] += 1;
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
