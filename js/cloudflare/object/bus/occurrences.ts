import {
  type DraftEvent,
  type EventReceipt,
  type EventStore,
  isOccurrence,
} from '../../../bus/events.js';
import { ListenError } from '../../../model/error.js';

/** A publish whose occurrences are replaced by the cues for them. */
export interface Prepared {
  /** The events for the log of the bus, each as JSON text. */
  events: string[];
  /** The occurrences, by their index among the events. */
  drafts: Map<number, DraftEvent>;
}

/** The occurrences of MCP Events among what a bus publishes. */
export class Occurrences {
  readonly #store: EventStore | undefined;

  constructor(store: EventStore | undefined) {
    this.#store = store;
  }

  /**
   * Checks the occurrences of a publish.
   *
   * @throws ListenError what is wrong with one.
   */
  prepare(texts: string[]): Prepared {
    const drafts = new Map<number, DraftEvent>();
    const events = texts.map((text, index) => {
      if (!isOccurrence(text)) return text;
      const draft = this.#required.draft(text);
      drafts.set(index, draft);
      return draft.cue;
    });
    return { events, drafts };
  }

  /** Adds occurrences to the log; `first` is the position of the first event of the publish. */
  append(drafts: Map<number, DraftEvent>, first: number, now: number): EventReceipt[] {
    return [...drafts].map(([index, draft]) => {
      const { eventId, position } = this.#required.append(draft, first + index, now);
      draft.free();
      return { eventId, position };
    });
  }

  /** Returns the page that answers a question, for a bus whose last position is `head`. */
  page(question: string, head: number): string {
    return this.#required.page(question, head, Date.now());
  }

  get #required(): EventStore {
    if (this.#store !== undefined) return this.#store;
    throw new ListenError('events-unavailable', 'this bus keeps no occurrences of events');
  }
}
