import {
  type DraftEvent,
  type EventReceipt,
  type EventStore,
  isOccurrence,
} from '../../../bus/events.js';
import { ListenError } from '../../../model/error.js';
import type { RootWebhooks } from './webhooks.js';

/** A publish whose occurrences are replaced by the cues for them. */
export interface Prepared {
  /** The events for the log of the bus, each as JSON text. */
  events: string[];
  /** The occurrences, by their index among the events. */
  drafts: Map<number, DraftEvent>;
  /** The callers that are disconnected. */
  disconnected: string[];
}

/** The occurrences of MCP Events among what a bus publishes. */
export class Occurrences {
  readonly #store: EventStore | undefined;
  readonly #webhooks: RootWebhooks | undefined;

  constructor(store: EventStore | undefined, webhooks: RootWebhooks | undefined) {
    this.#store = store;
    this.#webhooks = webhooks;
  }

  /**
   * Checks the occurrences of a publish, and that each event is one line.
   *
   * @throws ListenError what is wrong with one.
   */
  prepare(texts: string[]): Prepared {
    const drafts = new Map<number, DraftEvent>();
    const events = texts.map((text, index) => {
      if (text === '' || text.includes('\n'))
        throw new ListenError('malformed-event', 'an event has to be one line of JSON text');
      if (!isOccurrence(text)) return text;
      const draft = this.#required.draft(text);
      drafts.set(index, draft);
      return draft.cue;
    });
    return { events, drafts, disconnected: texts.flatMap(disconnectedBy) };
  }

  /**
   * Adds occurrences to the log; `first` is the position of the first event of the publish. Stores
   * what those that deliver to webhooks have to learn.
   */
  append({ disconnected, drafts }: Prepared, first: number, now: number): EventReceipt[] {
    const names = [...drafts.values()].map(({ name }) => name);
    if (names.length + disconnected.length > 0) this.#webhooks?.enqueue(names, disconnected, now);
    return [...drafts].map(([index, draft]) => {
      const { eventId, position } = this.#required.append(draft, first + index, now);
      draft.free();
      return { eventId, position };
    });
  }

  /** Returns the page for a query, for a bus whose last position is `head`. */
  page(query: string, head: number): string {
    return this.#required.page(query, head, Date.now());
  }

  get #required(): EventStore {
    if (this.#store !== undefined) return this.#store;
    throw new ListenError('events-unavailable', 'this bus keeps no occurrences of events');
  }
}

/** Returns the caller that an event, as JSON text, disconnects. */
function disconnectedBy(event: string): string[] {
  if (!event.includes('"disconnect"')) return [];
  const { kind, principal } = JSON.parse(event) as { kind: string; principal: string };
  return kind === 'disconnect' ? [principal] : [];
}
