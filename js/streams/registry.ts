import type { AttachmentCounters } from '../bus/attachable-bus.js';
import type { ServerStream } from '../bus/server-stream.js';
import { type ListenStats, type StreamEnding, WRITE_DELAY_BOUNDS } from '../model/stats.js';
import type { StreamSpan } from '../observe/stream-observer.js';
import { deferred } from '../timing/deferred.js';
import { PerInstance } from '../wasm/per-instance.js';
import { Retirement, Tally } from '../wasm/server/bindings.js';
import { FinalSettle } from './final-settle.js';

/** The streams that one server holds, and how those ended that it held. */
export class StreamRegistry {
  readonly #streams = new Map<ServerStream, StreamSpan | undefined>();
  readonly #awaited = new Set<Awaited>();
  readonly #authorizeMs: number;
  readonly #ended: Record<StreamEnding, number> = {
    ...{
      closed: 0,
      left: 0,
      stalled: 0,
      rotated: 0,
      drained: 0,
      shed: 0,
      expired: 0,
      denied: 0,
      aborted: 0,
    },
    ...{ outdated: 0, exhausted: 0, lost: 0, trapped: 0 },
  };

  #opened = 0;

  readonly #tally = new PerInstance(() => new Tally());

  /** @param authorizeMs - how long it may take to find out that a caller may still receive what is pending. */
  constructor(authorizeMs: number) {
    this.#authorizeMs = authorizeMs;
  }

  /** Counts what the streams go through; begins anew with the core. */
  get tally(): Tally {
    return this.#tally.value;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Over how many milliseconds the streams of a core that has trapped end: at most 500 a second. */
  get trapMs(): number {
    return Math.max(LEAST_TRAP_MS, this.#streams.size * 2);
  }

  /** What the streams are doing, and what they went through, but for what their buses did. */
  get stats(): Omit<ListenStats, 'refused' | keyof AttachmentCounters> {
    return {
      open: this.#streams.size,
      opened: this.#opened,
      ...this.#told(),
      ended: { ...this.#ended },
    };
  }

  /** Holds a stream until it is released; `witness` tells others what becomes of it. */
  hold(stream: ServerStream, witness?: StreamSpan): void {
    this.#streams.set(stream, witness);
    this.#opened += 1;
  }

  /** The bus of a stream is away, or back. */
  away(stream: ServerStream, isAway: boolean): void {
    this.#streams.get(stream)?.away(isAway);
  }

  /** A stream has ended. */
  release(stream: ServerStream, ending: StreamEnding): void {
    const witness = this.#streams.get(stream);
    if (!this.#streams.delete(stream)) return;
    this.#ended[ending] += 1;
    witness?.ended(ending);
    for (const { done, streams } of this.#awaited)
      if (streams.delete(stream) && streams.size === 0) done();
  }

  /**
   * Ends all streams gracefully; resolves when the last one has ended, for which no reader is waited for. `settled` as of
   * {@link ServerStream.close}.
   */
  async close(settled?: Promise<boolean>): Promise<void> {
    const streams = [...this.#streams.keys()];
    for (const stream of streams) stream.close(settled);
    await this.#gone(streams, SETTLE_MS + this.#authorizeMs);
  }

  /**
   * Ends the `count` oldest streams, or all, without a result and spread evenly over `windowMs`;
   * resolves when the last one has ended. Each ends once `settle` has resolved that was called at
   * its moment or later, and at most a second after its moment.
   */
  async drain(windowMs: number, count?: number, settle?: Settle): Promise<void> {
    const why = count === undefined ? Retirement.Drained : Retirement.Shed;
    await this.#retire([...this.#streams.keys()].slice(0, count), windowMs, why, settle);
  }

  #told(): Pick<
    ListenStats,
    'events' | 'notifications' | 'collapsed' | 'writeDelayMs' | 'written'
  > {
    const [events = 0, notifications = 0, collapsed = 0, writeDelayMs = 0, ...counts] =
      this.tally.counts;
    const written = WRITE_DELAY_BOUNDS.map((le, place) => ({ le, count: counts[place] ?? 0 }));
    return { events, notifications, collapsed, writeDelayMs, written };
  }

  /** Each stream has its own slice of the window, and a moment of chance within it. */
  async #retire(
    streams: ServerStream[],
    windowMs: number,
    why: Retirement,
    settle?: Settle,
  ): Promise<void> {
    const questions = settle && new FinalSettle(settle);
    const slice = windowMs / streams.length;
    const now = performance.now();
    streams.forEach((stream, place) => {
      const at = now + slice * (place + Math.random());
      stream.retire(at, why, questions?.after(at));
    });
    const asked = questions?.ask();
    await this.#gone(streams, windowMs + TAKE_MS);
    questions?.stop();
    await asked;
  }

  /** Waits for streams to end, for so long at most; what then remains is cut off. */
  async #gone(streams: ServerStream[], ms: number): Promise<void> {
    const left = new Set(streams.filter((stream) => this.#streams.has(stream)));
    if (left.size === 0) return;
    const late = setTimeout(() => {
      for (const stream of left) stream.abort();
    }, ms);
    const gone = deferred();
    const awaited = { streams: left, done: gone.resolve };
    this.#awaited.add(awaited);
    await gone.promise;
    this.#awaited.delete(awaited);
    clearTimeout(late);
  }
}

/** Milliseconds that a bus has to deliver what was published before a close. */
export const SETTLE_MS = 1_000;
/** Milliseconds over which even a few streams end: their clients come back all at once otherwise. */
const LEAST_TRAP_MS = 2_000;
/** Milliseconds that readers have, after the window of a drain, to take what is pending. */
const TAKE_MS = 5_000;

/** Asks the bus for what was published before the call; resolves in any case. */
export type Settle = () => Promise<unknown>;

/** Streams whose end somebody waits for. */
interface Awaited {
  streams: Set<ServerStream>;
  done: () => void;
}
