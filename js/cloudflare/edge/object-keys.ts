import { retrying } from '../wire/retry.js';
import type { SocketStub } from '../wire/stubs.js';

/** Caches the keys of bus objects in one isolate, by the name of the object. */
export class ObjectKeyCache {
  readonly #keys = new Map<string, Known>();

  /**
   * Calls `send` with the key of the object `name`, and once more with a fresh key if the object
   * refuses it. `stub` has to return a fresh stub on each call.
   *
   * @throws what a stub throws.
   */
  async withKey(
    name: string,
    stub: () => SocketStub,
    send: (key: string) => Promise<Response>,
  ): Promise<Response> {
    const response = await send(await this.key(name, stub));
    if (response.status !== FORBIDDEN) return response;
    return send(await this.#fresh(name, stub));
  }

  /** Returns the key of the object `name`. */
  async key(name: string, stub: () => SocketStub): Promise<string> {
    return this.#keys.get(name)?.key ?? (await this.#fresh(name, stub));
  }

  /**
   * Returns the key of the object `name` after it may have changed. Fetches it again at most once
   * in ten seconds. Returns undefined if the key was never fetched.
   */
  async newerKey(name: string, stub: () => SocketStub): Promise<string | undefined> {
    const known = this.#keys.get(name);
    if (known === undefined || Date.now() - known.askedAt < RENEWAL_MS) return known?.key;
    known.askedAt = Date.now();
    return this.#fresh(name, stub);
  }

  /** Forgets the key of the object `name`. */
  forget(name: string): void {
    this.#keys.delete(name);
  }

  async #fresh(name: string, stub: () => SocketStub): Promise<string> {
    const key = await retrying(MAX_CONNECT_ATTEMPTS, () => stub().connectionKey());
    this.#keys.set(name, { key, askedAt: Date.now() });
    return key;
  }
}

interface Known {
  key: string;
  /** In milliseconds since 1970. */
  askedAt: number;
}

const FORBIDDEN = 403;
/** Milliseconds for which a key counts as current. */
const RENEWAL_MS = 10_000;
/** Maximum attempts for each call: an object that is being moved succeeds on the second one. */
export const MAX_CONNECT_ATTEMPTS = 2;
