import type {
  EventNameRow,
  EventRow,
  EventRows,
  NewEventRow,
  RemovedEvent,
} from '../../../wasm/events/bindings.js';

/** The occurrences of a bus in SQLite, and the rows of their names. */
export class EventTable implements EventRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  append({ at, eventId, group, name, position, text }: NewEventRow): void {
    this.#sql.exec(
      'INSERT INTO event_log VALUES (?, ?, ?, ?, ?, ?)',
      name,
      position,
      at,
      group ?? null,
      eventId ?? null,
      text,
    );
  }

  find(name: string, group: string | undefined, eventId: string): number | undefined {
    return this.#position(
      'name = ? AND event_id = ? AND "group" IS ?',
      name,
      eventId,
      group ?? null,
    );
  }

  after(name: string, position: number): Iterator<EventRow> {
    const rows = this.#sql.exec<Row>(
      `SELECT position, at, "group", text FROM event_log
       WHERE name = ? AND position > ? ORDER BY position`,
      name,
      position,
    );
    return eventRows(rows);
  }

  since(name: string, position: number, at: number): number | undefined {
    return this.#position(
      'name = ? AND position > ? AND at >= ? ORDER BY position LIMIT 1',
      name,
      position,
      at,
    );
  }

  removeOldest(name: string, count: number, bytes: number): RemovedEvent[] {
    const oldest = this.#sql.exec<{ position: number; bytes: number }>(
      `SELECT position, ${BYTES} FROM event_log WHERE name = ? ORDER BY position LIMIT ?`,
      name,
      count,
    );
    let [through, removed] = [0, 0];
    for (const row of oldest) {
      if (removed >= bytes) break;
      removed += row.bytes;
      through = row.position;
    }
    return this.#remove('name = ? AND position <= ?', name, through);
  }

  removeBefore(at: number, count: number): RemovedEvent[] {
    const oldest = 'SELECT name, position FROM event_log WHERE at < ? ORDER BY name, position';
    return this.#remove(`(name, position) IN (${oldest} LIMIT ?)`, at, count);
  }

  names(): EventNameRow[] {
    return this.#sql
      .exec<{ name: string; trimmed: number; count: number; bytes: number }>(
        'SELECT name, trimmed, count, bytes FROM event_name',
      )
      .toArray();
  }

  keepName({ bytes, count, name, trimmed }: EventNameRow): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO event_name VALUES (?, ?, ?, ?)',
      name,
      trimmed,
      count,
      bytes,
    );
  }

  forgetName(name: string): void {
    this.#sql.exec('DELETE FROM event_name WHERE name = ?', name);
  }

  #position(where: string, ...bindings: (string | number | null)[]): number | undefined {
    const query = `SELECT position FROM event_log WHERE ${where}`;
    return this.#sql.exec<{ position: number }>(query, ...bindings).toArray()[0]?.position;
  }

  #remove(where: string, ...bindings: (string | number)[]): RemovedEvent[] {
    return this.#sql
      .exec<{ name: string; position: number; bytes: number }>(
        `DELETE FROM event_log WHERE ${where}
         RETURNING name, position, ${BYTES}`,
        ...bindings,
      )
      .toArray();
  }
}

function* eventRows(rows: Iterable<Row>): Iterator<EventRow> {
  for (const { at, group, position, text } of rows)
    yield { position, at, group: group ?? undefined, text };
}

type Row = { position: number; at: number; group: string | null; text: string };

const BYTES = 'LENGTH(CAST(text AS BLOB)) AS bytes';

/** Each write of a row and of an index is billed, so there is one index, of the given ids alone. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS event_log (
    name TEXT NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, "group" TEXT, event_id TEXT,
    text TEXT NOT NULL, PRIMARY KEY (name, position)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS event_log_id ON event_log (name, event_id, "group")
    WHERE event_id IS NOT NULL;
  CREATE TABLE IF NOT EXISTS event_name (
    name TEXT PRIMARY KEY, trimmed INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL
  ) WITHOUT ROWID;
`;
