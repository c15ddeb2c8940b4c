import { SessionRoom, uriBytes } from '../legacy/session-room.js';
import type { NewSession, SessionLimits, SessionState, UriLimit } from '../legacy/session-store.js';

/** The sessions of one bus in SQLite, with the resources that each one watches. */
export class SessionTable {
  readonly #sql: SqlStorage;
  /**
   * When sessions were used since the object was last woken: rows tell less exactly, see {@link
   * SessionTable.touch}.
   */
  readonly #usedAt = new Map<string, number>();
  #room: SessionRoom | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    // Sessions of before the id of the handler behind was kept here are over: their ids told it.
    const columns = sql.exec<{ name: string }>("SELECT name FROM pragma_table_info('session')").toArray();
    const isOutdated = columns.length > 0 && !columns.some(({ name }) => name === 'behind');
    if (isOutdated) for (const table of TABLES) sql.exec(`DROP TABLE IF EXISTS ${table}`);
    sql.exec(SCHEMA);
  }

  /** How much the sessions take that are held, those that are over and not yet swept among them. */
  get room(): SessionRoom {
    this.#room ??= this.#counted();
    return this.#room;
  }

  /** Begins a session, whose client is not ready yet; `since` is where the log ends. */
  create(id: string, { address, behind, capabilities, idleMs, principal }: NewSession, since: string): void {
    const { room } = this;
    const now = Date.now();
    const caller = [principal ?? null, principal === undefined ? (address ?? null) : null];
    this.#sql.exec(INSERT, id, ...caller, behind ?? null, capabilities, idleMs, now, since);
    this.#usedAt.set(id, now);
    room.add({ isNamed: principal !== undefined, sessions: 1 });
  }

  /** What is known of a session; undefined where it is not this principal's. */
  find(id: string, principal: string | undefined): Omit<SessionState, 'isStreaming'> | undefined {
    const query = 'SELECT behind, capabilities, since FROM session WHERE id = ? AND principal IS ?';
    const [row] = this.#sql.exec<Found>(query, id, principal ?? null).toArray();
    if (row === undefined) return undefined;
    const { behind, capabilities, since } = row;
    return { capabilities, since, ...(behind !== null && { behind }) };
  }

  /** Whose a session is; undefined where it belongs to no principal. */
  principal(id: string): string | undefined {
    const rows = this.#sql.exec<{ principal: string | null }>('SELECT principal FROM session WHERE id = ?', id);
    return rows.toArray()[0]?.principal ?? undefined;
  }

  /**
   * The sessions of a caller, and when each was used; undefined where nothing tells it from others.
   */
  ofCaller({ address, principal }: NewSession): { id: string; usedAt: number }[] | undefined {
    if (principal === undefined && address === undefined) return undefined;
    const caller = principal === undefined ? [null, address ?? null] : [principal, null];
    const query = 'SELECT id, used_at FROM session WHERE principal IS ? AND address IS ? ORDER BY number';
    const rows = this.#sql.exec<{ id: string; used_at: number }>(query, ...caller).toArray();
    return rows.map(({ id, used_at: usedAt }) => ({ id, usedAt: this.#usedAt.get(id) ?? usedAt }));
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
    if (this.#usedAt.has(id) || this.has(id)) this.#usedAt.set(id, now);
    this.#sql.exec('UPDATE session SET used_at = ? WHERE id = ? AND used_at + idle_ms / 10 < ?', now, id, now);
  }

  /** The resources that a session watches. */
  uris(id: string): string[] {
    const rows = this.#sql.exec<{ uri: string }>(`SELECT uri FROM session_uri WHERE session = ${NUMBER}`, id);
    return rows.toArray().map(({ uri }) => uri);
  }

  /** Watches a resource, unless that would exceed a limit: answers which one. */
  watch(id: string, uri: string, limits: SessionLimits): UriLimit | undefined {
    const { room } = this;
    const query = 'SELECT principal, uris, uri_bytes AS bytes FROM session WHERE id = ?';
    const [session] = this.#sql.exec<Watching>(query, id).toArray();
    if (session === undefined || this.#watches(id, uri)) return undefined;
    const excess = room.excess(session.principal !== null, session, uri, limits);
    if (excess !== undefined) return excess;
    this.#sql.exec(`INSERT INTO session_uri VALUES (${NUMBER}, ?)`, id, uri);
    this.#count(id, 1, uriBytes(uri));
    return undefined;
  }

  /** Watches a resource no longer. */
  unwatch(id: string, uri: string): void {
    if (!this.#watches(id, uri)) return;
    this.#sql.exec(`DELETE FROM session_uri WHERE session = ${NUMBER} AND uri = ?`, id, uri);
    this.#count(id, -1, -uriBytes(uri));
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
    const { room } = this;
    this.#sql.exec(`DELETE FROM session_uri WHERE session = ${NUMBER}`, id);
    this.#sql.exec('DELETE FROM session_shard WHERE session = ?', id);
    const ended = 'DELETE FROM session WHERE id = ? RETURNING principal, uri_bytes AS bytes';
    for (const { bytes, principal } of this.#sql.exec<{ bytes: number; principal: string | null }>(ended, id))
      room.add({ isNamed: principal !== null, sessions: -1, bytes: -bytes });
    this.#usedAt.delete(id);
  }

  /** The sessions that no request has used for as long as they may idle. */
  idle(): string[] {
    const rows = this.#sql.exec<{ id: string }>('SELECT id FROM session WHERE used_at + idle_ms <= ?', Date.now());
    return rows.toArray().map(({ id }) => id);
  }

  /** When the next session will have idled for too long; undefined where there is none. */
  get nextEnd(): number | undefined {
    const { at } = this.#sql.exec<{ at: number | null }>('SELECT MIN(used_at + idle_ms) AS at FROM session').one();
    return at ?? undefined;
  }

  #watches(id: string, uri: string): boolean {
    const query = `SELECT 1 FROM session_uri WHERE session = ${NUMBER} AND uri = ?`;
    return this.#sql.exec(query, id, uri).toArray().length > 0;
  }

  #count(id: string, uris: number, bytes: number): void {
    const { room } = this;
    const query = 'UPDATE session SET uris = uris + ?, uri_bytes = uri_bytes + ? WHERE id = ? RETURNING principal';
    const { principal } = this.#sql.exec<{ principal: string | null }>(query, uris, bytes, id).one();
    room.add({ isNamed: principal !== null, bytes });
  }

  /** Counted once, when the object was woken. */
  #counted(): SessionRoom {
    const room = new SessionRoom();
    for (const { bytes, named, sessions } of this.#sql.exec<Counted>(COUNT))
      room.add({ isNamed: named === 1, sessions, bytes });
    return room;
  }
}

type Found = { capabilities: string; behind: string | null; since: string };
type Watching = { principal: string | null; uris: number; bytes: number };
type Counted = { named: number; sessions: number; bytes: number };

const TABLES = ['session', 'session_uri', 'session_shard'];

/** URIs lie in the one tree of their table: each is on disk once. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS session (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, principal TEXT, address TEXT, behind TEXT,
    capabilities TEXT NOT NULL, idle_ms INTEGER NOT NULL, used_at INTEGER NOT NULL, since TEXT NOT NULL,
    is_held INTEGER NOT NULL DEFAULT 1, uris INTEGER NOT NULL DEFAULT 0, uri_bytes INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX IF NOT EXISTS session_caller ON session (principal, address);
  CREATE TABLE IF NOT EXISTS session_uri (
    session INTEGER NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (session, uri)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS session_shard (session TEXT PRIMARY KEY, shard INTEGER NOT NULL) WITHOUT ROWID;
`;

const INSERT = `
  INSERT INTO session (id, principal, address, behind, capabilities, idle_ms, used_at, since)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
`;

const COUNT = `
  SELECT principal IS NOT NULL AS named, COUNT(*) AS sessions, SUM(uri_bytes) AS bytes FROM session GROUP BY named
`;

/** The number of the session with an id. */
const NUMBER = '(SELECT number FROM session WHERE id = ?)';
