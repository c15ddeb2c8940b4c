import { retrying } from '../wire/retry.js';

/** What can be asked of an object for one stream. */
export interface SocketStub {
  /** The key that upgrades have to carry. */
  connectionKey(): Promise<string>;
  fetch(url: string, init: { headers: Record<string, string> }): Promise<Response>;
}

/** The keys of bus objects that one isolate knows, by the names of the objects. */
export class ObjectKeyCache {
  readonly #keys = new Map<string, Known>();

  /**
   * Calls `ask` with the key of the object `name`, and once more with a fresh one where the object
   * refused. `stub` has to return a fresh stub on each call.
   *
   * @throws what a stub throws.
   */
  async using(
    name: string,
    stub: () => SocketStub,
    ask: (key: string) => Promise<Response>,
  ): Promise<Response> {
    const response = await ask(await this.key(name, stub));
    if (response.status !== FORBIDDEN) return response;
    return ask(await this.#fresh(name, stub));
  }

  /** The key of the object `name`. */
  async key(name: string, stub: () => SocketStub): Promise<string> {
    return this.#keys.get(name)?.key ?? (await this.#fresh(name, stub));
  }

  /** The same where the key may have changed: asks for it again, at most once in ten seconds. Undefined where it was never asked for. */
  async newerKey(name: string, stub: () => SocketStub): Promise<string | undefined> {
    const known = this.#keys.get(name);
    if (known === undefined || Date.now() - known.askedAt < RENEWAL_MS) return known?.key;
    known.askedAt = Date.now();
    return this.#fresh(name, stub);
  }

  /** The object `name` is not needed any more. */
  forget(name: string): void {
    this.#keys.delete(name);
  }

  async #fresh(name: string, stub: () => SocketStub): Promise<string> {
    const key = await retrying(ATTEMPTS, () => stub().connectionKey());
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
/** Milliseconds for which a key is taken for the latest one. */
const RENEWAL_MS = 10_000;
/** Calls of one kind: an object that is being moved answers the second time. */
export const ATTEMPTS = 2;
