import type { ForgettableHandler } from '../../listen-handler.js';
import type { ListenHandler } from '../../options.js';

/** The servers of tenants. Drops idle ones when an isolate has more than its maximum. */
export class Tenants {
  /** The servers, the least recently used first. */
  readonly #known = new Map<string, ForgettableHandler<unknown[]>>();
  readonly #make: (name: string) => ForgettableHandler<unknown[]>;
  readonly #max: number;

  /**
   * @param make - creates the server of a tenant.
   * @param max - maximum number of servers that are kept while some of them are idle.
   */
  constructor(make: (name: string) => ForgettableHandler<unknown[]>, max: number) {
    this.#make = make;
    this.#max = max;
  }

  /** The number of servers. */
  get size(): number {
    return this.#known.size;
  }

  /** Returns the server of a tenant; creates it on first use. */
  server(name: string): ListenHandler<unknown[]> {
    const known = this.#known.get(name);
    const handler = known ?? this.#make(name);
    this.#known.delete(name);
    this.#known.set(name, handler);
    if (known === undefined) this.#forgetIdle(name);
    return handler.server;
  }

  /**
   * Drops idle servers until there are at most `max`. Keeps the newest, which is about to be used.
   */
  #forgetIdle(newest: string): void {
    if (this.#known.size <= this.#max) return;
    for (const [name, { isIdle }] of this.#known) {
      if (name === newest || !isIdle()) continue;
      this.#known.delete(name);
      if (this.#known.size <= this.#max) return;
    }
  }
}
