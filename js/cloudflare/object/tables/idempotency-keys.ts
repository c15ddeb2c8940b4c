import { ListenError } from '../../../model/error.js';
import { WINDOW_MS } from '../../publish/signature.js';

/** By what a publish that is made again is known, and what it publishes. */
export interface IdempotencyKey {
  /** Its idempotency key. */
  key?: string;
  /** What signed it. */
  signature?: string;
  /** Stands for its events. */
  digest: string;
}

/**
 * What becomes of a publish: the position of its last event, or why it is not made. Its key belongs to one of other
 * events, or it is signed and there is no room to remember that.
 */
export type PublishedAt = number | 'key-reused' | 'signatures-full';

/** For how many publishes, and for how long, a bus remembers what it was published once. */
export interface IdempotencyOptions {
  /**
   * Number of idempotency keys to remember, of all publishers together. The oldest is forgotten
   * first.
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
   * Number of signed publishes that a bus takes within 11 minutes. It remembers each for that long,
   * which is longer than its signature is fresh. Beyond the limit it refuses further ones with 503,
   * and forgets none.
   *
   * @default 100_000
   */
  signedPublishes?: number;
}

/** The publishes that a bus remembers, in SQLite: keys by count and by age, signatures by age alone. */
export class IdempotencyKeys {
  readonly #keys: Remembered;
  readonly #signatures: Remembered;
  readonly #mostKeys: number;
  readonly #mostSignatures: number;

  /** @throws ListenError `invalid-options`. */
  constructor(sql: SqlStorage, options: IdempotencyOptions) {
    const {
      idempotencyKeys = 10_000,
      idempotencyMs = 86_400_000,
      signedPublishes = 100_000,
    } = options;
    for (const [name, count] of Object.entries({ idempotencyKeys, signedPublishes })) {
      if (!Number.isSafeInteger(count) || count < 1) {
        throw new ListenError('invalid-options', `${name} is not a whole number from 1`);
      }
    }
    if (!(idempotencyMs > 0))
      throw new ListenError('invalid-options', 'idempotencyMs is not a number above 0');
    this.#keys = new Remembered(sql, 'publish_once', idempotencyMs);
    this.#signatures = new Remembered(sql, 'publish_signed', SIGNED_MS);
    this.#mostKeys = idempotencyKeys;
    this.#mostSignatures = signedPublishes;
  }

  /**
   * Returns what became of this publish if that is settled: it was made before, or it cannot be made. Remembers the
   * signature of a publish that its key settles, so that it stays settled once the key is forgotten.
   */
  settle({ digest, key, signature }: IdempotencyKey, now: number): PublishedAt | undefined {
    const signed = signature === undefined ? undefined : this.#signatures.find(signature, now);
    if (signed !== undefined) return outcome(signed, digest);
    if (signature !== undefined && !this.#hasRoom(now)) return 'signatures-full';
    const keyed = key === undefined ? undefined : this.#keys.find(key, now);
    if (keyed === undefined) return undefined;
    const settled = outcome(keyed, digest);
    const position = settled === 'key-reused' ? REFUSED : settled;
    if (signature !== undefined) this.#signatures.keep(signature, digest, position, now);
    return settled;
  }

  /** Remembers a publish, and forgets the keys that have left the window: reads what it deletes, and a row more. */
  keep({ digest, key, signature }: IdempotencyKey, position: number, now: number): void {
    if (signature !== undefined) this.#signatures.keep(signature, digest, position, now);
    if (key === undefined) return;
    this.#keys.keep(key, digest, position, now);
    this.#keys.forget(now, this.#mostKeys);
  }

  #hasRoom(now: number): boolean {
    this.#signatures.forget(now);
    return this.#signatures.count < this.#mostSignatures;
  }
}

function outcome(former: Former, digest: string): number | 'key-reused' {
  return former.digest === digest && former.position !== REFUSED ? former.position : 'key-reused';
}

/** A publish that is remembered. */
interface Former {
  digest: string;
  position: number;
}

/** A table of publishes in the order in which they came. */
class Remembered {
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

  /** How many there are; none is taken out of the middle but to be put last again. */
  get count(): number {
    const { first, last } = this.#sql
      .exec<{ first: number | null; last: number | null }>(
        `SELECT (SELECT MIN(seq) FROM ${this.#table}) AS first, (SELECT MAX(seq) FROM ${this.#table}) AS last`,
      )
      .one();
    return first === null || last === null ? 0 : last - first + 1;
  }

  find(key: string, now: number): Former | undefined {
    const [row] = this.#sql
      .exec<{ digest: string; position: number }>(
        `SELECT digest, position FROM ${this.#table} WHERE key = ? AND at > ?`,
        ...[key, now - this.#ms],
      )
      .toArray();
    return row;
  }

  keep(key: string, digest: string, position: number, now: number): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (key, digest, position, at) VALUES (?, ?, ?, ?)`,
      ...[key, digest, position, now],
    );
  }

  /** Deletes what is too old, and with `most` what is too much. */
  forget(now: number, most?: number): void {
    const last =
      this.#sql.exec<{ last: number | null }>(`SELECT MAX(seq) AS last FROM ${this.#table}`).one()
        .last ?? 0;
    const [young] = this.#sql
      .exec<{ seq: number }>(
        `SELECT seq FROM ${this.#table} WHERE at > ? ORDER BY seq LIMIT 1`,
        now - this.#ms,
      )
      .toArray();
    const old = young === undefined ? last : young.seq - 1;
    const floor = most === undefined ? old : Math.max(old, last - most);
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE seq <= ?`, floor);
  }
}

/** Stands for the position of a publish that was refused for its key; positions begin at 1. */
const REFUSED = 0;
/** A signature is fresh for the window before its timestamp and the one after; a minute more for clocks that differ. */
const SIGNED_MS = 2 * WINDOW_MS + 60_000;
