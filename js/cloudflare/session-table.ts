import type { NewSession } from '../legacy/session-store.js';

/** The sessions of one bus in SQLite, with the resources that each one watches. */
export class SessionTable {
  readonly #sql: SqlStorage;
  #count: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** How many sessions are held, those that are over and not yet swept among them. */
  get count(): number {
    this.#count ??= this.#sql.exec<{ count: number }>('SELECT COUNT(*) AS count FROM session').one().count;
    return this.#count;
  }

  /** Begins a session. */
  create({ id, principal, capabilities, idleMs }: NewSession): void {
    const { count } = this;
    const values = [id, principal ?? null, capabilities, idleMs, Date.now()];
    this.#sql.exec('INSERT INTO session VALUES (?, ?, ?, ?, ?)', ...values);
    this.#count = count + 1;
  }

  /** What the client of a session was told that it is notified about; undefined where it is not this principal's. */
  capabilities(id: string, principal: string | undefined): string | undefined {
    const [row] = this.#sql
      .exec<Row>('SELECT * FROM session WHERE id = ? AND principal IS ?', id, principal ?? null)
      .toArray();
    return row?.capabilities;
  }

  /** Whether the session is held. */
  has(id: string): boolean {
    return this.#sql.exec('SELECT 1 FROM session WHERE id = ?', id).toArray().length > 0;
  }

  /** Whether no request came for longer than the session may idle. */
  isIdle(id: string): boolean {
    const rows = this.#sql.exec('SELECT 1 FROM session WHERE id = ? AND used_at + idle_ms < ?', id, Date.now());
    return rows.toArray().length > 0;
  }

  /** The session counts as used now. A row is written only where that makes a difference. */
  touch(id: string): void {
    const now = Date.now();
    this.#sql.exec('UPDATE session SET used_at = ? WHERE id = ? AND used_at + idle_ms / 10 < ?', now, id, now);
  }

  /** The resources that a session watches. */
  uris(id: string): string[] {
    const rows = this.#sql.exec<{ uri: string }>('SELECT uri FROM session_uri WHERE session = ? ORDER BY rowid', id);
    return rows.toArray().map(({ uri }) => uri);
  }

  /** Watches a resource. */
  watch(id: string, uri: string): void {
    this.#sql.exec(
      'INSERT OR IGNORE INTO session_uri SELECT ?, ? WHERE EXISTS (SELECT 1 FROM session WHERE id = ?)',
      id,
      uri,
      id,
    );
  }

  /** Watches a resource no longer. */
  unwatch(id: string, uri: string): void {
    this.#sql.exec('DELETE FROM session_uri WHERE session = ? AND uri = ?', id, uri);
  }

  /** Forgets a session. */
  end(id: string): void {
    this.#sql.exec('DELETE FROM session_uri WHERE session = ?', id);
    this.#sql.exec('DELETE FROM session WHERE id = ?', id);
    this.#count = undefined;
  }

  /** The sessions that no request has used for as long as they may idle. */
  idle(): string[] {
    const rows = this.#sql.exec<Row>('SELECT * FROM session WHERE used_at + idle_ms <= ?', Date.now());
    return rows.toArray().map(({ id }) => id);
  }

  /** When the next session will have idled for too long; undefined where there is none. */
  get nextEnd(): number | undefined {
    const { at } = this.#sql.exec<{ at: number | null }>('SELECT MIN(used_at + idle_ms) AS at FROM session').one();
    return at ?? undefined;
  }
}

type Row = { id: string; capabilities: string };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, principal TEXT, capabilities TEXT NOT NULL, idle_ms INTEGER NOT NULL, used_at INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS session_uri (session TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (session, uri));
`;
