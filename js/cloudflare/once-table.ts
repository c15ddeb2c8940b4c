import { ListenError } from '../error.js';

/** By what a publish that is made again is known, and what it publishes. */
export interface Once {
  /** Any of them makes it the same one. */
  keys: string[];
  /** Stands for its events. */
  digest: string;
}

/** For how many publishes, and for how long, a bus remembers what it was published once. */
export interface OnceOptions {
  /** Idempotency keys remembered (default 10,000). */
  idempotencyKeys?: number;
  /** Milliseconds for which they are (default 86,400,000: a day). */
  idempotencyMs?: number;
}

/** The publishes that a bus remembers by their keys, in SQLite: a window by count and by age. */
export class OnceTable {
  readonly #sql: SqlStorage;
  readonly #keys: number;
  readonly #ms: number;

  /** @throws ListenError `invalid-options`. */
  constructor(sql: SqlStorage, { idempotencyKeys = 10_000, idempotencyMs = 86_400_000 }: OnceOptions) {
    if (!Number.isSafeInteger(idempotencyKeys) || idempotencyKeys < 1) {
      throw new ListenError('invalid-options', 'idempotencyKeys is not a whole number from 1');
    }
    if (!(idempotencyMs > 0)) throw new ListenError('invalid-options', 'idempotencyMs is not a number above 0');
    this.#sql = sql;
    this.#keys = idempotencyKeys;
    this.#ms = idempotencyMs;
    sql.exec(SCHEMA);
  }

  /** Where the last event of this publish stands, if it was made before; `isOther`: then it published something else. */
  find({ digest, keys }: Once, now: number): { position: number; isOther: boolean } | undefined {
    const [row] = this.#sql
      .exec<{ digest: string; position: number }>(
        'SELECT digest, position FROM publish_once WHERE key IN (SELECT value FROM json_each(?)) AND at > ? LIMIT 1',
        JSON.stringify(keys),
        now - this.#ms,
      )
      .toArray();
    return row && { position: row.position, isOther: row.digest !== digest };
  }

  /** Remembers a publish, and forgets those that have left the window: reads what it deletes, and a row more. */
  keep({ digest, keys }: Once, position: number, now: number): void {
    for (const key of keys) {
      this.#sql.exec(
        'INSERT OR REPLACE INTO publish_once (key, digest, position, at) VALUES (?, ?, ?, ?)',
        ...[key, digest, position, now],
      );
    }
    const { last } = this.#sql.exec<{ last: number }>('SELECT MAX(seq) AS last FROM publish_once').one();
    const [young] = this.#sql
      .exec<{ seq: number }>('SELECT seq FROM publish_once WHERE at > ? ORDER BY seq LIMIT 1', now - this.#ms)
      .toArray();
    const floor = Math.max((young?.seq ?? last) - 1, last - this.#keys);
    this.#sql.exec('DELETE FROM publish_once WHERE seq <= ?', floor);
  }
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS publish_once (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
    position INTEGER NOT NULL, at INTEGER NOT NULL
  );
`;
