import type { DraftEvent, EventLogMaker, EventStore } from '../../bus/events.js';
import { expectAmounts } from '../../model/amount.js';
import { calling, ListenError } from '../../model/error.js';
import {
  type AppendedEvent,
  EventDraft,
  EventLog,
  type EventRows,
} from '../../wasm/events/bindings.js';
import { eventsGuard } from '../../wasm/events/guard.js';
import type { CoreUser } from '../../wasm/instance-guard.js';
import type { DefinedEvents } from '../serve/host.js';

/**
 * How much of the log of occurrences is kept: whichever limit is reached first. A limit of 0 is
 * `invalid-options`.
 */
export interface EventLogOptions {
  /**
   * Maximum number of occurrences of one name; up to a tenth more are kept for a while. 0 is
   * `invalid-options`.
   *
   * @default 10_000
   */
  logEvents?: number;
  /**
   * Milliseconds for which an occurrence is kept. 0 is `invalid-options`.
   *
   * @default 86_400_000
   */
  logAgeMs?: number;
  /**
   * Maximum bytes of all occurrences together. Beyond it, the event type with the most bytes loses
   * its oldest occurrences first, never the newest occurrence of all. 0 is `invalid-options`.
   *
   * @default 67_108_864
   */
  logBytes?: number;
  /**
   * Maximum number of names that the occurrences have. 0 is `invalid-options`.
   *
   * @default 1_000
   */
  logNames?: number;
  /**
   * The event types, defined with the option `webhooks`, whose occurrences the bus delivers to
   * webhooks.
   *
   * @default no delivery to webhooks
   */
  webhooks?: DefinedEvents;
}

/**
 * Returns what opens a log of occurrences, for a bus that keeps them.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * export class MyBus extends SubscriptionBus {
 *   static override events = eventLog();
 * }
 * ```
 */
export function eventLog(options: EventLogOptions = {}): EventLogMaker {
  const { webhooks, ...amounts } = options;
  expectAmounts('events', amounts);
  if (Object.values(amounts).includes(0))
    throw new ListenError('invalid-options', 'the limits of a log of occurrences must not be 0');
  const deliver = webhooks?.deliver;
  if (webhooks !== undefined && deliver === undefined)
    throw new ListenError('invalid-options', 'define the events with the option webhooks');
  const { logAgeMs: ageMs = DEFAULT_AGE_MS, logBytes: bytes = DEFAULT_BYTES } = amounts;
  const { logEvents: events, logNames: names } = amounts;
  const window = JSON.stringify({ events, ageMs, bytes, names });
  return {
    open: (rows, epoch, reset) => new OccurrenceLog(rows, epoch, window, reset),
    deliver,
    kept: { ageMs, bytes },
  };
}

class OccurrenceLog implements EventStore, CoreUser {
  readonly #log: EventLog;
  readonly #reset: () => void;

  constructor(rows: EventRows, epoch: string, window: string, reset: () => void) {
    this.#log = calling(() => new EventLog(rows, epoch, window));
    this.#reset = reset;
    eventsGuard.onResetOf(this);
  }

  handleReset(): void {
    this.#reset();
  }

  draft(text: string): EventDraft {
    return calling(() => {
      const draft = new EventDraft(text);
      this.#log.expectRoom(draft);
      return draft;
    });
  }

  append(draft: DraftEvent, position: number, now: number): AppendedEvent {
    return calling(() => this.#log.append(draft as EventDraft, position, now));
  }

  page(query: string, head: number, now: number): string {
    return calling(() => this.#log.page(query, head, now));
  }

  isBehind(query: string, head: number): boolean {
    return calling(() => this.#log.isBehind(query, head));
  }
}

/** The defaults of the core. */
const DEFAULT_AGE_MS = 86_400_000;
const DEFAULT_BYTES = 67_108_864;
