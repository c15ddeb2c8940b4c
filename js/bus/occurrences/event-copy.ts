import type { LogEnd, LogEntry, LogState } from '../broker/log.js';
import type { DraftEvent, EventLogMaker, EventStore } from '../events.js';
import { MemoryEventRows } from '../memory/event-rows.js';

/** The occurrences of a log that all processes share, in the memory of this process. */
export class EventCopy {
  readonly #open: EventLogMaker;
  #rows = new MemoryEventRows();
  #epoch: string | undefined;
  #head = 0;
  #store: EventStore | undefined;

  constructor(open: EventLogMaker) {
    this.#open = open;
  }

  /** The position of its last entry; undefined if it is a copy of no log yet. */
  get end(): LogEnd | undefined {
    return this.#epoch === undefined ? undefined : { epoch: this.#epoch, position: this.#head };
  }

  /** Begins to follow a log. The copy is empty then, unless the log continues it. */
  open({ epoch, first, last, trimmed }: LogState): void {
    const isWithin = first <= this.#head + 1 && this.#head <= last;
    const isContinued = this.#epoch === epoch && isWithin;
    if (!isContinued) this.#begin(epoch, first - 1, trimmed);
  }

  /**
   * Adds an entry. Returns the cue for its readers; undefined if the log had an occurrence of the
   * same name, group and id.
   *
   * @throws ListenError what is wrong with the occurrence.
   */
  append({ at, position, text }: LogEntry): string | undefined {
    const before = position - 1;
    if (this.#head < before) this.#begin(this.#epoch ?? '', before, [['', before]]);
    this.#head = position;
    const draft = this.draft(text);
    try {
      return this.#current.append(draft, position, at).isNew ? draft.cue : undefined;
    } finally {
      draft.free();
    }
  }

  /**
   * Checks an occurrence, given as JSON text.
   *
   * @throws ListenError what is wrong with it, or `too-many-event-names`.
   */
  draft(text: string): DraftEvent {
    return this.#current.draft(text);
  }

  /** Returns the page for a query. */
  page(query: string): string {
    return this.#current.page(query, this.#head, Date.now());
  }

  /** Whether the reader who asks has more than this copy. */
  isBehind(query: string): boolean {
    return this.#current.isBehind(query, this.#head);
  }

  #begin(epoch: string, head: number, trimmed: LogState['trimmed']): void {
    this.#rows = new MemoryEventRows();
    this.#epoch = epoch;
    this.#head = head;
    this.#store = undefined;
    for (const [name, position] of trimmed)
      this.#rows.keepName({ name, trimmed: position, count: 0, bytes: 0 });
  }

  /** The rows outlive the core. */
  get #current(): EventStore {
    this.#store ??= this.#open.open(this.#rows, this.#epoch ?? '', () => {
      this.#store = undefined;
    });
    return this.#store;
  }
}
