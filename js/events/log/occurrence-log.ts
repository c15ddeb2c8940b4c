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
import type { DefinedEvents } from '../serve/host.js';

/** How much of the log of occurrences is kept: whichever limit is reached first. */
export interface EventLogOptions {
  /**
   * Maximum number of occurrences of one name; up to a tenth more are kept for a while.
   *
   * @default 10_000
   */
  events?: number;
  /**
   * Milliseconds for which an occurrence is kept.
   *
   * @default 86_400_000
   */
  ageMs?: number;
  /**
   * Maximum bytes of all occurrences together.
   *
   * @default 67_108_864
   */
  bytes?: number;
  /**
   * Maximum number of names that the occurrences have.
   *
   * @default 1_000
   */
  names?: number;
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
export function eventLog({ webhooks, ...amounts }: EventLogOptions = {}): EventLogMaker {
  expectAmounts('events', amounts);
  const deliver = webhooks?.deliver;
  if (webhooks !== undefined && deliver === undefined)
    throw new ListenError('invalid-options', 'define the events with the option webhooks');
  const window = JSON.stringify(amounts);
  const { ageMs = AGE_MS, bytes = BYTES } = amounts;
  return {
    open: (rows, epoch, reset) => new OccurrenceLog(rows, epoch, window, reset),
    deliver,
    kept: { ageMs, bytes },
  };
}

class OccurrenceLog implements EventStore {
  readonly #log: EventLog;

  constructor(rows: EventRows, epoch: string, window: string, reset: () => void) {
    this.#log = calling(() => new EventLog(rows, epoch, window));
    const leave = eventsGuard.onReset(() => {
      leave();
      reset();
    });
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

  page(question: string, head: number, now: number): string {
    return calling(() => this.#log.page(question, head, now));
  }

  isBehind(question: string, head: number): boolean {
    return calling(() => this.#log.isBehind(question, head));
  }
}

/** The defaults of the core. */
const AGE_MS = 86_400_000;
const BYTES = 67_108_864;
