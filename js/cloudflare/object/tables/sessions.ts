import type { SessionKeys, SessionRows, SessionTotals } from '../../../wasm/server/bindings.js';

/**
 * The sessions of one bus in SQLite, with the resources that each one subscribes to. Resets the
 * object if the disk fails, because the core may then be ahead of it. It has no reference to the
 * bus: the core keeps it until the bus is collected.
 */
export class SessionTable implements SessionRows {
  readonly #ctx: DurableObjectState;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    const { sql } = ctx.storage;
    // Sessions from versions whose core did not keep them are dropped.
    const columns = sql
      .exec<{ name: string }>("SELECT name FROM pragma_table_info('session')")
      .toArray();
    const isOutdated = columns.length > 0 && !columns.some(({ name }) => name === 'session');
    if (isOutdated) for (const table of TABLES) sql.exec(`DROP TABLE IF EXISTS ${table}`);
    sql.exec(SCHEMA);
  }

  /** When the next session ends, in milliseconds since 1970; undefined if there is none. */
  get nextEnd(): number | undefined {
    const [row] = this.#rows<{ at: number | null }>('SELECT MIN(ends_at) + 1 AS at FROM session');
    return row?.at ?? undefined;
  }

  get(id: string): string | undefined {
    return this.#rows<{ session: string }>('SELECT session FROM session WHERE id = ?', id)[0]
      ?.session;
  }

  put(
    id: string,
    session: string,
    { caller, endsAt, isNamed, shard, uriBytes }: SessionKeys,
  ): void {
    this.#rows(PUT, id, caller ?? null, Number(isNamed), endsAt, shard ?? null, uriBytes, session);
  }

  remove(id: string): void {
    this.#rows(`DELETE FROM session_uri WHERE session = ${NUMBER}`, id);
    this.#rows('DELETE FROM session WHERE id = ?', id);
  }

  subscriptions(id: string): string[] {
    const query = `SELECT uri FROM session_uri WHERE session = ${NUMBER}`;
    return this.#rows<{ uri: string }>(query, id).map(({ uri }) => uri);
  }

  isSubscribed(id: string, uri: string): boolean {
    const query = `SELECT 1 FROM session_uri WHERE session = ${NUMBER} AND uri = ?`;
    return this.#rows(query, id, uri).length > 0;
  }

  subscribe(id: string, uri: string): void {
    this.#rows(`INSERT INTO session_uri VALUES (${NUMBER}, ?)`, id, uri);
  }

  unsubscribe(id: string, uri: string): void {
    this.#rows(`DELETE FROM session_uri WHERE session = ${NUMBER} AND uri = ?`, id, uri);
  }

  ofCaller(caller: string): string[] {
    return this.#ids('caller = ?', caller);
  }

  ended(now: number): string[] {
    return this.#ids('ends_at < ?', now);
  }

  atShard(shard: number): string[] {
    return this.#ids('shard = ?', shard);
  }

  keepRelease(text: string): void {
    this.#rows('INSERT OR IGNORE INTO session_release VALUES (?)', text);
  }

  forgetRelease(text: string): void {
    this.#rows('DELETE FROM session_release WHERE text = ?', text);
  }

  releases(): string[] {
    return this.#rows<{ text: string }>('SELECT text FROM session_release').map(({ text }) => text);
  }

  totals(): { named: SessionTotals; unnamed: SessionTotals } {
    const counted = this.#rows<Counted>(COUNT);
    const totalsOf = (named: number): SessionTotals =>
      counted.find((each) => each.named === named) ?? NONE;
    return { named: totalsOf(1), unnamed: totalsOf(0) };
  }

  #ids(where: string, value: string | number): string[] {
    const query = `SELECT id FROM session WHERE ${where} ORDER BY number`;
    return this.#rows<{ id: string }>(query, value).map(({ id }) => id);
  }

  #rows<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#ctx.storage.sql.exec<Row>(query, ...values).toArray();
    } catch (error) {
      this.#ctx.abort(`a session could not be read or written: ${error}`);
      throw error;
    }
  }
}

type Counted = { named: number; sessions: number; bytes: number };

const NONE = { sessions: 0, bytes: 0 };

const TABLES = ['session', 'session_uri', 'session_shard'];

/** URIs are part of the primary key in a table WITHOUT ROWID: each is on disk once. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS session (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT, named INTEGER NOT NULL,
    ends_at INTEGER NOT NULL, shard INTEGER, uri_bytes INTEGER NOT NULL, session TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS session_of_caller ON session (caller);
  CREATE TABLE IF NOT EXISTS session_uri (
    session INTEGER NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (session, uri)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS session_release (text TEXT PRIMARY KEY) WITHOUT ROWID;
`;

/** The caller of a session never changes, so its index is not updated. */
const PUT = `
  INSERT INTO session (id, caller, named, ends_at, shard, uri_bytes, session)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET
    ends_at = excluded.ends_at, shard = excluded.shard, uri_bytes = excluded.uri_bytes,
    session = excluded.session
`;

const COUNT =
  'SELECT named, COUNT(*) AS sessions, SUM(uri_bytes) AS bytes FROM session GROUP BY named';

/** The row number of the session with an id. */
const NUMBER = '(SELECT number FROM session WHERE id = ?)';
