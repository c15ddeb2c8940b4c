import type { AttachmentCounters } from '../bus/attachable-bus.js';
import type { ServerStream } from '../bus/server-stream.js';
import { type EndReason, type ListenStats, WRITE_DELAY_BOUNDS } from '../model/stats/listen.js';
import { MAX_TIMER_MS, SETTLE_MS } from '../model/timeouts.js';
import type { StreamSpan } from '../observe/stream-observer.js';
import { deferred } from '../timing/deferred.js';
import { Retirement } from '../wasm/server/bindings.js';
import { FinalSettle } from './final-settle.js';

/** The number of open streams of all servers of this process or isolate. */
let openStreams = 0;

/** The open streams of one server, and counters of how streams ended. */
export class StreamRegistry {
  readonly #streams = new Map<ServerStream, StreamSpan | undefined>();
  /** Streams that ended before they were added. */
  readonly #early = new WeakSet<ServerStream>();
  readonly #awaited = new Set<Awaited>();
  readonly #authorizeMs: number;
  readonly #ended: Record<EndReason, number> = {
    ...{
      closed: 0,
      left: 0,
      stalled: 0,
      rotated: 0,
      drained: 0,
      expired: 0,
      denied: 0,
      aborted: 0,
    },
    ...{ outdated: 0, exhausted: 0, lost: 0, trapped: 0 },
  };

  #opened = 0;
  readonly #acknowledged = WRITE_DELAY_BOUNDS.map((le) => ({ le, count: 0 }));

  readonly #counts: () => Float64Array;

  /**
   * @param authorizeMs - milliseconds that `close` waits for renewals of authorizations, beyond the
   *   time for the bus.
   * @param counts - returns the core's counters of the streams, as in `Service.counts`. They
   *   restart at zero after a reset of the core.
   */
  constructor(authorizeMs: number, counts: () => Float64Array) {
    this.#authorizeMs = authorizeMs;
    this.#counts = counts;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * Milliseconds over which the streams of a core that has trapped end: at most 500 streams a
   * second, those of other servers included.
   */
  get trapMs(): number {
    return Math.max(MIN_TRAP_MS, openStreams * 2);
  }

  /** The statistics of the streams, without those of their attachments to the bus. */
  get stats(): Omit<ListenStats, 'refused' | keyof AttachmentCounters> {
    return {
      open: this.#streams.size,
      opened: this.#opened,
      ...this.#coreStats(),
      acknowledged: this.#acknowledged.map((range) => ({ ...range })),
      ended: { ...this.#ended },
    };
  }

  /** Whether a stream ended before it was added. */
  hasEnded(stream: ServerStream): boolean {
    return this.#early.has(stream);
  }

  /** Adds an open stream; `span` observes it until it ends. */
  add(stream: ServerStream, span?: StreamSpan): void {
    this.#streams.set(stream, span);
    this.#opened += 1;
    openStreams += 1;
  }

  /** Counts a listen request that the bus confirmed after `ms` milliseconds. */
  acknowledged(ms: number): void {
    const range = this.#acknowledged.find(({ le }) => ms <= le);
    if (range !== undefined) range.count += 1;
  }

  /** Handles a change in whether the bus of a stream is available. */
  away(stream: ServerStream, isAway: boolean): void {
    this.#streams.get(stream)?.away(isAway);
  }

  /** Handles the end of a stream. */
  release(stream: ServerStream, ending: EndReason): void {
    const span = this.#streams.get(stream);
    if (!this.#streams.delete(stream)) {
      this.#early.add(stream);
      return;
    }
    openStreams -= 1;
    this.#ended[ending] += 1;
    span?.ended(ending);
    for (const { done, streams } of this.#awaited)
      if (streams.delete(stream) && streams.size === 0) done();
  }

  /**
   * Ends all streams gracefully. Resolves when the last one has ended, without waiting for clients
   * to read. `settled` is passed to {@link ServerStream.close}.
   */
  async close(settled?: Promise<boolean>): Promise<void> {
    const streams = [...this.#streams.keys()];
    for (const stream of streams) stream.close(settled);
    await this.#whenEnded(streams, SETTLE_MS + this.#authorizeMs);
  }

  /**
   * Ends the `count` oldest streams, or all, without a result and spread evenly over `windowMs`.
   * Resolves when the last one has ended. Each stream ends once a call of `settle` made at its time
   * or later has resolved, and at most three seconds after its time.
   */
  async drain(windowMs: number, count?: number, settle?: Settle): Promise<void> {
    const streams = [...this.#streams.keys()].slice(0, count);
    await this.#retire(streams, Math.min(windowMs, MAX_TIMER_MS), settle);
  }

  #coreStats(): Pick<
    ListenStats,
    'events' | 'notifications' | 'collapsed' | 'writeDelayMs' | 'written'
  > {
    const [events = 0, notifications = 0, collapsed = 0, writeDelayMs = 0, ...counts] =
      this.#counts();
    const written = WRITE_DELAY_BOUNDS.map((le, index) => ({ le, count: counts[index] ?? 0 }));
    return { events, notifications, collapsed, writeDelayMs, written };
  }

  /** Retires each stream at a random time in its own slice of the window. */
  async #retire(streams: ServerStream[], windowMs: number, settle?: Settle): Promise<void> {
    const settling = settle && new FinalSettle(settle);
    const slice = windowMs / streams.length;
    const now = performance.now();
    streams.forEach((stream, index) => {
      const at = now + slice * (index + Math.random());
      stream.retire(at, Retirement.Drained, settling?.after(at));
    });
    const running = settling?.run();
    await this.#whenEnded(streams, windowMs + READ_MS);
    settling?.stop();
    await running;
  }

  /** Waits `ms` milliseconds at most for streams to end, then aborts the remaining ones. */
  async #whenEnded(streams: ServerStream[], ms: number): Promise<void> {
    const remaining = new Set(streams.filter((stream) => this.#streams.has(stream)));
    if (remaining.size === 0) return;
    const timer = setTimeout(() => {
      for (const stream of remaining) stream.abort();
    }, ms);
    const gone = deferred();
    const awaited = { streams: remaining, done: gone.resolve };
    this.#awaited.add(awaited);
    await gone.promise;
    this.#awaited.delete(awaited);
    clearTimeout(timer);
  }
}

/**
 * The least time in milliseconds over which streams end after a trap, so that clients do not
 * all reconnect at the same time.
 */
const MIN_TRAP_MS = 2_000;
/**
 * Milliseconds after the window of a drain within which the last streams end, and clients have to
 * read pending output.
 */
const READ_MS = 5_000;

/** Asks the bus for everything that was published before the call. Resolves even if that fails. */
export type Settle = () => Promise<unknown>;

/** Streams whose end a caller waits for. */
interface Awaited {
  streams: Set<ServerStream>;
  done: () => void;
}
