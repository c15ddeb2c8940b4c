import { ListenError } from '../../../model/error.js';
import { type IdempotencyKey, type PublishedAt, WINDOW_MS } from '../../wire/publish.js';

/** How many publishes a bus remembers, and for how long. */
export interface IdempotencyOptions {
  /**
   * Maximum number of idempotency keys to remember, for all publishers together. The oldest is
   * forgotten first. 0 is `invalid-options`.
   *
   * @default 10_000
   */
  idempotencyKeys?: number;
  /**
   * Milliseconds for which an idempotency key is remembered. 0 is `invalid-options`.
   *
   * @default 86_400_000
   */
  idempotencyMs?: number;
  /**
   * Maximum number of signed publishes that a bus accepts within 11 minutes. It remembers each for
   * that long, which is longer than its signature is fresh. Beyond the limit it refuses further
   * ones with 503, and forgets none. 0 is `invalid-options`.
   *
   * @default 100_000
   */
  signedPublishes?: number;
}

/**
 * The publishes that a bus remembers, in SQLite: keys limited by count and age, signatures by age
 * alone.
 */
export class IdempotencyKeys {
  readonly #keys: PublishTable;
  readonly #signatures: PublishTable;
  readonly #maxKeys: number;
  readonly #maxSignatures: number;

  /** @throws ListenError `invalid-options`. */
  constructor(sql: SqlStorage, options: IdempotencyOptions) {
    const {
      idempotencyKeys = 10_000,
      idempotencyMs = 86_400_000,
      signedPublishes = 100_000,
    } = options;
    for (const [name, count] of Object.entries({ idempotencyKeys, signedPublishes })) {
      if (!Number.isSafeInteger(count) || count < 1) {
        throw new ListenError('invalid-options', `${name} must be a whole number of at least 1`);
      }
    }
    if (!(idempotencyMs > 0))
      throw new ListenError('invalid-options', 'idempotencyMs must be a number above 0');
    this.#keys = new PublishTable(sql, 'publish_once', idempotencyMs);
    this.#signatures = new PublishTable(sql, 'publish_signed', SIGNED_MS);
    this.#maxKeys = idempotencyKeys;
    this.#maxSignatures = signedPublishes;
  }

  /**
   * Returns the result of a publish that is settled: it was made before, or it cannot be made.
   * Remembers the signature of a publish that its key settles, so that it stays settled once the
   * key is forgotten.
   */
  settle({ digest, key, signature }: IdempotencyKey, now: number): PublishedAt | undefined {
    const signed = signature === undefined ? undefined : this.#signatures.find(signature, now);
    if (signed !== undefined) return outcome(signed, digest);
    if (signature !== undefined && !this.#hasRoom(now)) return 'signatures-full';
    const keyed = key === undefined ? undefined : this.#keys.find(key, now);
    if (keyed === undefined) return undefined;
    const settled = outcome(keyed, digest);
    const position = settled === 'key-reused' ? REFUSED : settled;
    if (signature !== undefined) this.#signatures.store(signature, digest, position, now);
    return settled;
  }

  /**
   * Remembers a publish, and forgets the keys that have left the window. Reads the rows that it
   * deletes, and one more.
   */
  store({ digest, key, signature }: IdempotencyKey, position: number, now: number): void {
    if (signature !== undefined) this.#signatures.store(signature, digest, position, now);
    if (key === undefined) return;
    this.#keys.store(key, digest, position, now);
    this.#keys.forget(now, this.#maxKeys);
  }

  #hasRoom(now: number): boolean {
    this.#signatures.forget(now);
    return this.#signatures.count < this.#maxSignatures;
  }
}

function outcome(stored: StoredPublish, digest: string): number | 'key-reused' {
  return stored.digest === digest && stored.position !== REFUSED ? stored.position : 'key-reused';
}

/** A publish that is remembered. */
interface StoredPublish {
  digest: string;
  position: number;
}

/** A table of publishes in the order of their arrival. */
class PublishTable {
  readonly #sql: SqlStorage;
  readonly #table: string;
  readonly #ms: number;

  constructor(sql: SqlStorage, table: string, ms: number) {
    this.#sql = sql;
    this.#table = table;
    this.#ms = ms;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS ${table} (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
        position INTEGER NOT NULL, at INTEGER NOT NULL
      )`);
  }

  /**
   * The number of rows. A row is only ever taken from the middle to be inserted again as the last
   * one.
   */
  get count(): number {
    const { first, last } = this.#sql
      .exec<{ first: number | null; last: number | null }>(
        `SELECT (SELECT MIN(seq) FROM ${this.#table}) AS first, ` +
          `(SELECT MAX(seq) FROM ${this.#table}) AS last`,
      )
      .one();
    return first === null || last === null ? 0 : last - first + 1;
  }

  find(key: string, now: number): StoredPublish | undefined {
    const [row] = this.#sql
      .exec<{ digest: string; position: number }>(
        `SELECT digest, position FROM ${this.#table} WHERE key = ? AND at > ?`,
        ...[key, now - this.#ms],
      )
      .toArray();
    return row;
  }

  store(key: string, digest: string, position: number, now: number): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (key, digest, position, at) VALUES (?, ?, ?, ?)`,
      ...[key, digest, position, now],
    );
  }

  /** Deletes the rows that are too old and, with `max`, the oldest ones beyond that number. */
  forget(now: number, max?: number): void {
    const last =
      this.#sql.exec<{ last: number | null }>(`SELECT MAX(seq) AS last FROM ${this.#table}`).one()
        .last ?? 0;
    const [firstKept] = this.#sql
      .exec<{ seq: number }>(
        `SELECT seq FROM ${this.#table} WHERE at > ? ORDER BY seq LIMIT 1`,
        now - this.#ms,
      )
      .toArray();
    const expired = firstKept === undefined ? last : firstKept.seq - 1;
    const floor = max === undefined ? expired : Math.max(expired, last - max);
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE seq <= ?`, floor);
  }
}

/** The position that marks a publish refused for its key; positions begin at 1. */
const REFUSED = 0;
/**
 * Milliseconds for which a signature is remembered. It is fresh from one window before its
 * timestamp to one after; the additional minute covers clocks that differ.
 */
const SIGNED_MS = 2 * WINDOW_MS + 60_000;
