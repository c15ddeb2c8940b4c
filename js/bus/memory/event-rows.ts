import type {
  EventNameRow,
  EventRow,
  EventRows,
  NewEventRow,
  RemovedEvent,
} from '../../wasm/events/bindings.js';

/** The occurrences of a bus without a disk. */
export class MemoryEventRows implements EventRows {
  /** By position, which ascends. */
  readonly #rows = new Map<number, NewEventRow>();
  readonly #byName = new Map<string, NamedRows>();
  readonly #names = new Map<string, EventNameRow>();

  append(row: NewEventRow): void {
    this.#rows.set(row.position, row);
    const named: NamedRows = this.#byName.get(row.name) ?? { rows: [], ids: new Map() };
    this.#byName.set(row.name, named);
    named.rows.push(row);
    if (row.eventId !== undefined) named.ids.set(idKey(row.group, row.eventId), row.position);
  }

  find(name: string, group: string | undefined, eventId: string): number | undefined {
    return this.#byName.get(name)?.ids.get(idKey(group, eventId));
  }

  after(name: string, position: number): Iterator<EventRow> {
    const rows = this.#byName.get(name)?.rows ?? [];
    return rows.slice(firstIndex(rows, (row) => row.position > position)).values();
  }

  since(name: string, position: number, at: number): number | undefined {
    const rows = this.#byName.get(name)?.rows ?? [];
    const first = firstIndex(rows, (row) => row.position > position && row.at >= at);
    return rows[first]?.position;
  }

  removeOldest(name: string, count: number, bytes: number): RemovedEvent[] {
    let removed = 0;
    const oldest: NewEventRow[] = [];
    for (const row of this.#byName.get(name)?.rows ?? []) {
      if (oldest.length >= count || removed >= bytes) break;
      removed += bytesOf(row.text);
      oldest.push(row);
    }
    return this.#remove(oldest);
  }

  removeBefore(at: number, count: number): RemovedEvent[] {
    const old: NewEventRow[] = [];
    for (const row of this.#rows.values()) {
      if (row.at >= at || old.length >= count) break;
      old.push(row);
    }
    return this.#remove(old);
  }

  names(): EventNameRow[] {
    return [...this.#names.values()];
  }

  keepName(row: EventNameRow): void {
    this.#names.set(row.name, row);
  }

  forgetName(name: string): void {
    this.#names.delete(name);
  }

  /** Removes the oldest rows: of each name a number of its first ones. */
  #remove(rows: NewEventRow[]): RemovedEvent[] {
    const counts = new Map<string, number>();
    for (const { eventId, group, name, position } of rows) {
      this.#rows.delete(position);
      if (eventId !== undefined) this.#byName.get(name)?.ids.delete(idKey(group, eventId));
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const [name, count] of counts) this.#shift(name, count);
    return rows.map(({ name, position, text }) => ({ name, position, bytes: bytesOf(text) }));
  }

  #shift(name: string, count: number): void {
    const named = this.#byName.get(name);
    named?.rows.splice(0, count);
    if (named?.rows.length === 0) this.#byName.delete(name);
  }
}

interface NamedRows {
  rows: NewEventRow[];
  /** Positions by group and event id, see {@link idKey}. */
  ids: Map<string, number>;
}

/** An event id has no spaces, and a group is not empty. */
function idKey(group: string | undefined, eventId: string): string {
  return `${eventId} ${group ?? ''}`;
}

/** Returns the index of the first row for which `is` holds; it holds for all rows after it. */
function firstIndex(rows: NewEventRow[], is: (row: NewEventRow) => boolean): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(rows[middle] as NewEventRow)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
