import type { PendingDisconnect } from '../../wire/webhooks.js';

/** The objects that deliver to webhooks, as the bus remembers them, in SQLite. */
export class WebhookFollowers {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** All objects. */
  get rows(): WebhookFollower[] {
    const objects = this.#sql.exec<Row>(
      'SELECT object, call, subscriptions, pending FROM webhook_object',
    );
    return objects.toArray().map(({ call, object, pending, subscriptions }) => ({
      object,
      call,
      subscriptions,
      hasPendingWake: pending === 1,
      names: this.#texts('SELECT name AS text FROM webhook_name WHERE object = ?', object),
      disconnects: this.#disconnects(object),
    }));
  }

  /** Stores what an object follows, and the number of its subscriptions. */
  follow({ call, names, object, subscriptions }: Follow): void {
    this.#sql.exec(
      `INSERT INTO webhook_object VALUES (?, ?, ?, 0) ON CONFLICT (object)
       DO UPDATE SET call = excluded.call, subscriptions = excluded.subscriptions`,
      object,
      call,
      subscriptions,
    );
    const kept = JSON.stringify(names);
    this.#sql.exec(
      'DELETE FROM webhook_name WHERE object = ? AND name NOT IN (SELECT value FROM json_each(?))',
      object,
      kept,
    );
    this.#sql.exec(
      'INSERT OR IGNORE INTO webhook_name SELECT ?, value FROM json_each(?)',
      object,
      kept,
    );
  }

  /** Stores whether objects have to be woken. */
  setPendingWake(objects: readonly number[], isPending: boolean): void {
    this.#sql.exec(
      'UPDATE webhook_object SET pending = ? WHERE object IN (SELECT value FROM json_each(?))',
      Number(isPending),
      JSON.stringify(objects),
    );
  }

  /** Stores that an object has to end the subscriptions of a caller. */
  disconnect(object: number, { principal, publishedAt }: PendingDisconnect): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO webhook_pending_disconnect VALUES (?, ?, ?)',
      object,
      principal,
      publishedAt,
    );
  }

  /** Stores that an object has ended the subscriptions of these callers. */
  disconnected(object: number, principals: readonly string[]): void {
    this.#sql.exec(
      `DELETE FROM webhook_pending_disconnect
       WHERE object = ? AND principal IN (SELECT value FROM json_each(?))`,
      object,
      JSON.stringify(principals),
    );
  }

  /** Stores objects again after the storage was deleted. All of them have to be woken. */
  restore(rows: readonly WebhookFollower[]): void {
    this.#sql.exec(SCHEMA);
    for (const { disconnects, ...row } of rows) {
      this.follow(row);
      this.setPendingWake([row.object], true);
      for (const [principal, publishedAt] of disconnects)
        this.disconnect(row.object, { principal, publishedAt });
    }
  }

  #disconnects(object: number): Map<string, number> {
    const rows = this.#sql.exec<{ principal: string; at: number }>(
      'SELECT principal, published_at AS at FROM webhook_pending_disconnect WHERE object = ?',
      object,
    );
    return new Map(rows.toArray().map(({ at, principal }) => [principal, at]));
  }

  #texts(query: string, object: number): string[] {
    return this.#sql
      .exec<{ text: string }>(query, object)
      .toArray()
      .map(({ text }) => text);
  }
}

/** What an object follows. */
export interface Follow {
  /** The number of the object. */
  object: number;
  /** The number of the call in which the object stated this. */
  call: number;
  /** The event types of its subscriptions. */
  names: readonly string[];
  /** The number of its subscriptions. */
  subscriptions: number;
}

/** An object that delivers to webhooks. */
export interface WebhookFollower extends Follow {
  /** Whether it has to be woken. */
  hasPendingWake: boolean;
  /**
   * The callers whose subscriptions it has to end, and when they were disconnected, in
   * milliseconds since 1970.
   */
  disconnects: ReadonlyMap<string, number>;
}

type Row = { object: number; call: number; subscriptions: number; pending: number };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS webhook_object (object INTEGER PRIMARY KEY, call INTEGER NOT NULL,
    subscriptions INTEGER NOT NULL, pending INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS webhook_name (object INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (object, name)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS webhook_pending_disconnect (object INTEGER NOT NULL,
    principal TEXT NOT NULL, published_at INTEGER NOT NULL,
    PRIMARY KEY (object, principal)) WITHOUT ROWID;
`;
