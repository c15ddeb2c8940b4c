import type { EventMode } from '../model/events/event-mode.js';
import type { WebhookStats } from '../model/stats/webhooks.js';
import type {
  AppendedEvent,
  EventRows,
  EventSubject,
  EventSubscribe,
  SubscriptionRows,
} from '../wasm/events/bindings.js';

/** Options of {@link EventPublisher.emit}. */
export interface EmitOptions {
  /**
   * The id of the occurrence: 1 to 256 visible ASCII characters without a dot. While the log holds
   * an occurrence of the same name, group and id, publishing it again has no effect.
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

/** The receipt of an occurrence. */
export interface EventReceipt {
  /** Its position in the log of the bus; 0 on a bus that keeps no log. */
  position: number;
  /** The id of the occurrence. */
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
  /** Whether the log is in this process, so that it costs no request to read it. */
  readonly isLocal?: true;
  /** Returns the page for a query, both as text of the core. */
  page(query: string): Promise<string>;
  /** The subscriptions of webhooks; undefined if the bus delivers to none. */
  readonly webhooks?: WebhookSubscriptions;
}

/**
 * The subscriptions of webhooks at a bus. Each call resolves with the reply for the exchange of the
 * request, as text of the core.
 *
 * @internal
 */
export interface WebhookSubscriptions {
  /** Makes or renews a subscription. */
  subscribe(webhook: SubscribeCall): Promise<string>;
  /** Removes a subscription. */
  unsubscribe(webhook: SubscribedWebhook): Promise<string>;
}

/** A webhook to subscribe. */
export interface SubscribeCall extends EventSubscribe {
  /**
   * When the server received the request, before it authorized the caller, in milliseconds since
   * 1970.
   */
  askedAt: number;
}

/** What identifies the subscription of a webhook. */
export interface SubscribedWebhook extends EventSubject {
  principal: string;
  url: string;
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
  /** Returns the page for a query, for a bus whose last position is `head`. */
  page(query: string, head: number, now: number): string;
  /** Whether the reader who asks has more than this log, a copy whose last position is `head`. */
  isBehind(query: string, head: number): boolean;
}

/**
 * An occurrence that was checked.
 *
 * @internal
 */
export interface DraftEvent {
  /** The event that the bus carries to readers of the log, as JSON text. */
  readonly cue: string;
  /** The name of the event type. */
  readonly name: string;
  /** The occurrence as compact JSON text. */
  readonly text: string;
  free(): void;
}

/** The log of occurrences of a bus: `eventLog()` of `mcp-listen/events`. */
export interface EventLogMaker {
  /**
   * Opens the log. `epoch` identifies the log of the bus, and is empty if the bus replays nothing;
   * `reset` is called if the core fails, and the log must then be opened again.
   *
   * @internal
   */
  open(rows: EventRows, epoch: string, reset: () => void): EventStore;
  /** What a broker keeps for all names together. */
  readonly kept: {
    /** Milliseconds for which an occurrence is kept. */
    ageMs: number;
    /** Bytes of all occurrences together. */
    bytes: number;
  };
  /**
   * Starts the delivery to webhooks; undefined if the bus delivers to none.
   *
   * @internal
   */
  readonly deliver: ((host: WebhookHost) => WebhookDelivery) | undefined;
}

/**
 * What the delivery to webhooks needs of the bus, or of the object, that it runs in.
 *
 * @internal
 */
export interface WebhookHost {
  /** The subscriptions. */
  readonly rows: WebhookRows;
  /**
   * When the alarm is set to, in milliseconds since 1970; while it is being handled, now. Undefined
   * if it is not set.
   */
  readonly alarmAt: number | undefined;
  /** The longest lifetime of a subscription in milliseconds; undefined if any may be promised. */
  readonly maxTtlMs: number | undefined;
  /** The largest number of subscriptions here; undefined if only that of the whole bus counts. */
  readonly maxHeld: number | undefined;
  /** The event types that the bus was asked to wake this delivery for, before a restart. */
  readonly followed: readonly string[];
  /** The definitions of the event types that {@link keepDefinitions} last stored. */
  readonly definitions: string | undefined;
  /** Stores definitions, so that a later version can find out what it has changed. */
  keepDefinitions(definitions: string): void;
  /**
   * Has `alarm` called at a time, in milliseconds since 1970, or not at all. Resolves once that is
   * certain even if the host restarts.
   */
  setAlarm(at: number | undefined): Promise<void>;
  /** Returns the page of the log for a query, both as text of the core. */
  page(query: string): Promise<string>;
  /**
   * Has the bus call `wake` for these event types and no others, and reports the number of
   * subscriptions here.
   */
  follow(names: readonly string[], subscriptions: number): Promise<FollowedEvents>;
  /** Discards the delivery, which has failed. A new one begins with what the rows hold. */
  reset(): void;
}

/** The rows of the subscriptions of webhooks. */
export interface WebhookRows extends SubscriptionRows {
  /** The disconnects that were kept, at least those of the last minute: one for each caller. */
  readonly disconnects: readonly Disconnect[];
  /** Keeps a disconnect for a minute, so that a delivery that restarts does not forget it. */
  keepDisconnect(disconnect: Disconnect): void;
}

/**
 * A caller was disconnected. Times are in milliseconds since 1970.
 *
 * @internal
 */
export interface Disconnect {
  principal: string;
  /** When, by the clock of the bus: compared with `askedAt` of a {@link SubscribeCall}. */
  publishedAt: number;
  /** When, by the clock of the delivery, which need not agree with that of the bus. */
  at: number;
}

/** The reply of a bus to the delivery that follows event types. */
export interface FollowedEvents {
  /** Identifies the log. */
  epoch: string;
  /** The last position of the log. */
  head: number;
  /** The number of subscriptions at the whole bus. */
  total: number;
}

/**
 * Delivers occurrences to webhooks.
 *
 * @internal
 */
export interface WebhookDelivery extends WebhookSubscriptions {
  /** Counters for operators. */
  readonly stats: WebhookStats;
  /**
   * Handles new occurrences of event types in a log that ends at `head`. Resolves once they will be
   * delivered even if the host restarts.
   */
  wake(names: readonly string[], epoch: string, head: number): Promise<void>;
  /**
   * Ends the subscriptions of a caller that was disconnected, but those that were made or
   * renewed later. Resolves as `wake` does.
   */
  disconnect(disconnect: Disconnect): Promise<void>;
  /** Handles the alarm. */
  alarm(): Promise<void>;
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
