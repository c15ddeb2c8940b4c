import type { NewSession, SessionState } from '../legacy/session-store.js';

/** The sessions of one bus in SQLite, with the resources that each one watches. */
export class SessionTable {
  readonly #sql: SqlStorage;
  #count: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    // Tables of before sessions had these: their clients are ready, and nobody knows where they began.
    const columns = sql.exec<{ name: string }>("SELECT name FROM pragma_table_info('session')").toArray();
    if (columns.some(({ name }) => name === 'is_held')) return;
    sql.exec('ALTER TABLE session ADD COLUMN since TEXT');
    sql.exec('ALTER TABLE session ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0');
  }

  /** How many sessions are held, those that are over and not yet swept among them. */
  get count(): number {
    this.#count ??= this.#sql.exec<{ count: number }>('SELECT COUNT(*) AS count FROM session').one().count;
    return this.#count;
  }

  /** Begins a session, whose client is not ready yet; `since` is where the log ends. */
  create({ id, principal, capabilities, idleMs }: NewSession, since: string): void {
    const { count } = this;
    const values = [id, principal ?? null, capabilities, idleMs, Date.now(), since];
    this.#sql.exec(INSERT, ...values);
    this.#count = count + 1;
  }

  /** What is known of a session; undefined where it is not this principal's. */
  find(id: string, principal: string | undefined): Pick<SessionState, 'capabilities' | 'since'> | undefined {
    const [row] = this.#sql
      .exec<Row>('SELECT * FROM session WHERE id = ? AND principal IS ?', id, principal ?? null)
      .toArray();
    if (row === undefined) return undefined;
    const { capabilities, since } = row;
    return since === null ? { capabilities } : { capabilities, since };
  }

  /** Whether the client of a session has yet to say that it is ready. */
  isHeld(id: string): boolean {
    return this.#sql.exec('SELECT 1 FROM session WHERE id = ? AND is_held', id).toArray().length > 0;
  }

  /** The client of a session is ready; answers false where it was already. */
  release(id: string): boolean {
    return this.#sql.exec('UPDATE session SET is_held = 0 WHERE id = ? AND is_held', id).rowsWritten > 0;
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

  /** The shard where the stream of a session is; undefined where it is at none. */
  shard(id: string): number | undefined {
    const rows = this.#sql.exec<{ shard: number }>('SELECT shard FROM session_shard WHERE session = ?', id);
    return rows.toArray()[0]?.shard;
  }

  /** The stream of a session is at this shard now, or at none. */
  settle(id: string, shard: number | undefined): void {
    if (shard === this.shard(id)) return;
    if (shard === undefined) this.#sql.exec('DELETE FROM session_shard WHERE session = ?', id);
    else this.#sql.exec('INSERT OR REPLACE INTO session_shard VALUES (?, ?)', id, shard);
  }

  /** No stream is at this shard any more. */
  unsettle(shard: number): void {
    this.#sql.exec('DELETE FROM session_shard WHERE shard = ?', shard);
  }

  /** Forgets a session. */
  end(id: string): void {
    this.#sql.exec('DELETE FROM session_uri WHERE session = ?', id);
    this.#sql.exec('DELETE FROM session_shard WHERE session = ?', id);
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

type Row = { id: string; capabilities: string; since: string | null };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, principal TEXT, capabilities TEXT NOT NULL, idle_ms INTEGER NOT NULL, used_at INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS session_uri (session TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (session, uri));
  CREATE TABLE IF NOT EXISTS session_shard (session TEXT PRIMARY KEY, shard INTEGER NOT NULL) WITHOUT ROWID;
`;

const INSERT = `
  INSERT INTO session (id, principal, capabilities, idle_ms, used_at, since, is_held) VALUES (?, ?, ?, ?, ?, ?, 1)
`;
