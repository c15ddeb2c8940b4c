import { ListenError } from '../../model/error.js';
import type { EventError } from '../../model/events/event-error.js';
import type { EventMode } from '../../model/events/event-mode.js';
import type { EventGap, EventOccurrence } from '../../model/events/occurrence.js';
import type { ClientListenOptions } from '../options.js';

/** How events are received: over a stream that stays open, or by asking for them. */
export type EventWatchMode = Exclude<EventMode, 'webhook'>;

/** Keeps the cursor of a subscription, so that a restarted client resumes where it was. */
export interface CursorStore {
  /** Returns the cursor that was saved last; null or undefined to begin with the next event. */
  load(): string | null | undefined | Promise<string | null | undefined>;
  /**
   * Saves a cursor: everything before it was handled. The watch waits for a returned promise. An
   * error goes to `onError`, and the watch continues.
   */
  save(cursor: string): unknown;
}

/** Options of `watch` for the occurrences of an event. */
export interface EventWatchOptions
  extends Pick<ClientListenOptions, 'clientInfo' | 'fetch' | 'headers' | 'token'> {
  /**
   * How events are received. `auto` asks the server which modes the event has, and prefers `push`.
   *
   * @default 'auto'
   */
  mode?: 'auto' | EventWatchMode;
  /**
   * Keeps the cursor between runs of the program.
   *
   * @default in memory: the watch begins with the next event
   */
  cursor?: CursorStore;
  /**
   * Skips events that are older than this many milliseconds. Skipped events are reported as a gap.
   * 0 skips everything that was published before the request.
   *
   * @default no event is skipped
   */
  maxAgeMs?: number;
  /**
   * Milliseconds without data from the server after which a request has failed. Servers send a
   * heartbeat at least every 30 seconds. 0 disables.
   *
   * @default 60_000
   */
  maxSilenceMs?: number;
  /**
   * Closes the watch when aborted.
   *
   * @default undefined
   */
  signal?: AbortSignal;
  /**
   * Called when a handler fails, and with every error of the server or the connection.
   *
   * @default undefined
   */
  onError?: (error: ListenError) => void;
}

/** Handlers of the occurrences of an event. */
export interface EventHandlers {
  /**
   * Called with each event, one at a time and in order. The cursor moves on once the returned
   * promise has resolved. If it rejects, `onError` is called, and the event is passed on again
   * after a while. An event may be delivered more than once, with the same `eventId`.
   */
  event: (event: EventOccurrence) => unknown;
  /**
   * Called when the server can no longer deliver some events: read again what you derive from them.
   * Retried like `event`.
   */
  gap: (gap: EventGap) => unknown;
  /** Called when the server has ended the subscription. The watch has stopped then. */
  terminated: (error: EventError) => unknown;
}

/** Options of `watchEvents`. */
export interface WatchEventsOptions extends EventWatchOptions {
  /** The name of the event, as the server lists it. */
  name: string;
  /**
   * The arguments of the event, such as a filter.
   *
   * @default {}
   */
  arguments?: Record<string, unknown>;
  /** The handler `event`. */
  onEvent: EventHandlers['event'];
  /** The handler `gap`. */
  onGap: EventHandlers['gap'];
  /** The handler `terminated`. */
  onTerminated: EventHandlers['terminated'];
}

/**
 * Checks the numbers in the options.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectSpans({ maxAgeMs = 0, maxSilenceMs = 0 }: EventWatchOptions): void {
  if (maxAgeMs >= 0 && maxSilenceMs >= 0) return;
  throw new ListenError(
    'invalid-options',
    'maxAgeMs and maxSilenceMs must be numbers of at least 0',
  );
}
