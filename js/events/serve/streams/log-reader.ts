import type { EventSource } from '../../../bus/events.js';
import type { ListenError } from '../../../model/error.js';
import { jittered } from '../../../model/timeouts.js';

/**
 * Reads the log of events for streams. After a failure it is read again at the next cue, or at the
 * first heartbeat after a few seconds; that of an overloaded bus after about 30 seconds. No timer
 * reads it.
 */
export class LogReader {
  readonly #log: EventSource;
  readonly #onError: (error: Error) => void;
  /** The event types whose log cannot be read, and when each is read again without a cue. */
  readonly #retryAt = new Map<string, number>();
  /** The event types that were cued after their latest read began. */
  readonly #cued = new Set<string>();

  constructor(log: EventSource, onError: (error: Error) => void) {
    this.#log = log;
    this.#onError = onError;
  }

  /** Returns a page of the log of a type. */
  async page(name: string, query: string): Promise<string> {
    this.#cued.delete(name);
    const page = await this.#log.page(query);
    this.#retryAt.delete(name);
    return page;
  }

  /** Whether the log of a type is not read yet. */
  isWaiting(name: string): boolean {
    return performance.now() < (this.#retryAt.get(name) ?? 0);
  }

  /** Handles a cue: the log is read at once, or after the read that is under way. */
  cued(name: string): void {
    this.#cued.add(name);
    if (this.#retryAt.has(name)) this.#retryAt.set(name, 0);
  }

  /** Handles a read that has failed. Reports the first one of an outage. */
  failed(name: string, error: unknown): void {
    const isFirst = !this.#retryAt.has(name);
    const isOverloaded = (error as Partial<ListenError>).code === 'bus-overloaded';
    // The occurrence of a cue that came meanwhile is not read yet.
    const isLong = isOverloaded && !this.#cued.has(name);
    const waitMs = isLong ? jittered(OVERLOADED_MS) : LEAST_MS + Math.random() * SPREAD_MS;
    this.#retryAt.set(name, performance.now() + waitMs);
    if (isFirst) this.#onError(error as Error);
  }
}

/** Milliseconds, +-20 %, before the log of an overloaded bus is read again. */
const OVERLOADED_MS = 30_000;
/** Milliseconds before any other log is read again: at least, and how much longer at most. */
const LEAST_MS = 1_000;
const SPREAD_MS = 4_000;
