import { isSameSecret } from '../../web/bearer.js';
import { hex } from '../../web/hex.js';

/**
 * The key of one bus object, which accepts no upgrade without it. The key is random, is kept in the
 * object's storage, and leaves the object only by RPC, which no HTTP request can call.
 */
export class BusKey {
  readonly #ctx: DurableObjectState;
  #key: string | undefined;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /** Returns the key: 256 random bits in hexadecimal digits, created on the first call. */
  issue(): string {
    this.#key ??= this.#stored();
    return this.#key;
  }

  /**
   * Whether `given` is the key, compared in constant time. Reads no storage: no key matches until
   * the key was issued since the object started, or a socket remains that was accepted with it.
   */
  async is(given: string): Promise<boolean> {
    this.#key ??= this.#tagged();
    return this.#key !== undefined && (await isSameSecret(given, this.#key));
  }

  /**
   * The tag of each accepted socket, from which an object that wakes from hibernation reads the
   * key.
   */
  get tag(): string {
    return `${TAG}${this.issue()}`;
  }

  #stored(): string {
    const { sql } = this.#ctx.storage;
    sql.exec('CREATE TABLE IF NOT EXISTS bus_key (key TEXT NOT NULL)');
    const random = hex(crypto.getRandomValues(new Uint8Array(32)));
    sql.exec('INSERT INTO bus_key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM bus_key)', random);
    return sql.exec<{ key: string }>('SELECT key FROM bus_key').one().key;
  }

  #tagged(): string | undefined {
    const [socket] = this.#ctx.getWebSockets();
    const tags = socket === undefined ? [] : this.#ctx.getTags(socket);
    return tags.find((tag) => tag.startsWith(TAG))?.slice(TAG.length);
  }
}

const TAG = 'key:';
