import type { Disconnect, WebhookRows } from '../../../bus/events.js';
import { MINUTE_MS } from '../../../timing/spans.js';
import type { SubscriptionRow } from '../../../wasm/events/bindings.js';

/** The subscriptions of webhooks at one object, in SQLite, and what it asked of its bus. */
export class WebhookTable implements WebhookRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** The event types for which the bus was last asked to wake this object, and in which call. */
  get followed(): { call: number; names: string[] } {
    const [row] = this.#sql
      .exec<{ call: number; names: string }>('SELECT call, names FROM webhook_followed')
      .toArray();
    return { call: row?.call ?? 0, names: row === undefined ? [] : JSON.parse(row.names) };
  }

  /** Stores what the bus was asked for. */
  setFollowed(call: number, names: readonly string[]): void {
    const text = JSON.stringify(names);
    this.#sql.exec('INSERT OR REPLACE INTO webhook_followed VALUES (1, ?, ?)', call, text);
  }

  /** The definitions of the event types when this object last started. */
  get definitions(): string | undefined {
    const rows = this.#sql.exec<{ text: string }>('SELECT text FROM webhook_definitions').toArray();
    return rows[0]?.text;
  }

  /** Stores the definitions. */
  setDefinitions(text: string): void {
    this.#sql.exec('INSERT OR REPLACE INTO webhook_definitions VALUES (1, ?)', text);
  }

  get disconnects(): Disconnect[] {
    const query = 'SELECT principal, published_at AS publishedAt, at FROM webhook_disconnect';
    return this.#sql.exec<{ principal: string; publishedAt: number; at: number }>(query).toArray();
  }

  /** Keeps a disconnect, and deletes those that are older than a minute. */
  keepDisconnect({ at, principal, publishedAt }: Disconnect): void {
    this.#sql.exec('DELETE FROM webhook_disconnect WHERE at <= ?', Date.now() - MINUTE_MS);
    this.#sql.exec(
      'INSERT OR REPLACE INTO webhook_disconnect VALUES (?, ?, ?)',
      principal,
      publishedAt,
      at,
    );
  }

  subscriptions(): SubscriptionRow[] {
    return this.#sql.exec<{ id: string; text: string }>('SELECT id, text FROM webhook').toArray();
  }

  put(id: string, text: string): void {
    this.#sql.exec('INSERT OR REPLACE INTO webhook VALUES (?, ?)', id, text);
  }

  remove(id: string): void {
    this.#sql.exec('DELETE FROM webhook WHERE id = ?', id);
  }

  watermarks(): string[] {
    const rows = this.#sql.exec<{ text: string }>('SELECT text FROM webhook_level').toArray();
    return rows.map(({ text }) => text);
  }

  putWatermark(name: string, text: string): void {
    this.#sql.exec('INSERT OR REPLACE INTO webhook_level VALUES (?, ?)', name, text);
  }

  removeWatermark(name: string): void {
    this.#sql.exec('DELETE FROM webhook_level WHERE name = ?', name);
  }
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS webhook (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS webhook_level (name TEXT PRIMARY KEY, text TEXT NOT NULL)
    WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS webhook_followed (only_one INTEGER PRIMARY KEY, call INTEGER NOT NULL,
    names TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS webhook_definitions (only_one INTEGER PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS webhook_disconnect (principal TEXT PRIMARY KEY,
    published_at INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
`;
