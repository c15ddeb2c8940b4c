import type { LoggedEvent } from '../bus/recent-events.js';

/** The bus's log in SQLite: every published event with its position, back to a window's start. */
export class EventLog {
  /** Tells this log from one that began on another disk. */
  readonly epoch: string;
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    sql.exec('INSERT INTO epoch SELECT ? WHERE NOT EXISTS (SELECT 1 FROM epoch)', crypto.randomUUID());
    this.epoch = sql.exec<{ id: string }>('SELECT id FROM epoch').one().id;
  }

  /** The position of the last event; 0 when there was none. */
  get position(): number {
    return this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(position), 0) AS last FROM event').one().last;
  }

  /** Keeps one event, given as JSON text; now and then, drops those that have left the window. */
  append(position: number, event: string): void {
    this.#sql.exec('INSERT INTO event VALUES (?, ?, ?)', position, Date.now(), event);
    if (position % TRIM_EVERY === 0) {
      this.#sql.exec('DELETE FROM event WHERE position <= ?', position - WINDOW);
    }
  }

  /** The events beyond `position`, which must lie within the window. */
  after(position: number): Iterable<LoggedEvent> {
    return this.#sql.exec<{ position: number; event: string }>(
      'SELECT position, event FROM event WHERE position > ? ORDER BY position',
      position,
    );
  }
}

/** Events kept. */
export const WINDOW = 10_000;
/** Publishes between two trims: trimming in batches keeps a publish at one row written. */
const TRIM_EVERY = 1_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS epoch (id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS event (position INTEGER PRIMARY KEY, published_at INTEGER NOT NULL, event TEXT NOT NULL);
`;
