import type { AppendedEvent, EventRows } from '../wasm/events/bindings.js';

/** How occurrences reach a subscriber: it asks, it holds a stream, or it is called back. */
export type EventMode = 'poll' | 'push' | 'webhook';

/** Options of {@link EventPublisher.emit}. */
export interface EmitOptions {
  /**
   * The id of the occurrence: 1 to 256 visible ASCII characters without a dot. While the log holds
   * an occurrence of the same name and id, publishing it again has no effect.
   *
   * @default an id that the bus creates
   */
  id?: string;
  /**
   * When it happened: a date, or ISO 8601 text with an offset.
   *
   * @default when it is published
   */
  timestamp?: string | Date;
  /**
   * Only callers with this group receive it.
   *
   * @default every caller receives it
   */
  group?: string;
}

/** What became of an occurrence. */
export interface EventReceipt {
  /** Its position in the log of the bus; 0 on a bus that keeps no log. */
  position: number;
  eventId: string;
}

/** Publishes occurrences of MCP Events. */
export interface EventPublisher {
  /**
   * Publishes that something happened; resolves once the log has it. `data` is the payload, at most
   * 196,608 bytes as JSON.
   *
   * @throws ListenError (as a rejection) `events-unavailable` if the bus keeps no occurrences,
   *   `invalid-event-name`, `invalid-event-data`, `event-too-large`, `invalid-event-id`,
   *   `invalid-timestamp`, `invalid-group`, `too-many-event-names`, `bus-unavailable`.
   */
  emit(name: string, data: Record<string, unknown>, options?: EmitOptions): Promise<EventReceipt>;
}

/**
 * The log of occurrences of a bus, as its servers reach it.
 *
 * @internal
 */
export interface EventSource {
  /** The modes that the bus can serve. */
  readonly modes: readonly EventMode[];
  /** Returns the page that answers a question, both as text of the core. */
  page(question: string): Promise<string>;
}

/**
 * The log of occurrences beside the log of a bus.
 *
 * @internal
 */
export interface EventStore {
  /**
   * Checks an occurrence, given as JSON text.
   *
   * @throws ListenError what is wrong with it, or `too-many-event-names`.
   */
  draft(text: string): DraftEvent;
  /** Adds an occurrence at a position that its cue has taken. */
  append(draft: DraftEvent, position: number, now: number): AppendedEvent;
  /** Returns the page that answers a question, for a bus whose last position is `head`. */
  page(question: string, head: number, now: number): string;
  /** Whether the reader who asks has more than this log, a copy whose last position is `head`. */
  isBehind(question: string, head: number): boolean;
}

/**
 * An occurrence that was checked.
 *
 * @internal
 */
export interface DraftEvent {
  /** The event that the bus carries to readers of the log, as JSON text. */
  readonly cue: string;
  /** The occurrence as compact JSON text. */
  readonly text: string;
  free(): void;
}

/**
 * Opens the log of occurrences of a bus: `eventLog()` of `mcp-listen/events`. `epoch` identifies
 * the log of the bus, and is empty if the bus replays nothing; `reset` is called if the core fails,
 * and the log must then be opened again.
 */
export interface EventLogMaker {
  (rows: EventRows, epoch: string, reset: () => void): EventStore;
  /** What a broker keeps for all names together: milliseconds, and bytes. */
  readonly kept: { ageMs: number; bytes: number };
}

/** Returns whether an event of the bus, as compact JSON text, is an occurrence. */
export function isOccurrence(event: string): boolean {
  return event.startsWith('{"kind":"event",');
}

/** Returns an occurrence as JSON text. */
export function occurrenceText(
  name: string,
  data: Record<string, unknown>,
  { group, id, timestamp }: EmitOptions = {},
): string {
  const at = timestamp instanceof Date ? timestamp.toISOString() : timestamp;
  return JSON.stringify({ kind: 'event', name, eventId: id, timestamp: at, group, data });
}
