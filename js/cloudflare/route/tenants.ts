import type { ForgettableHandler } from '../../listen-handler.js';
import type { ListenHandler } from '../../options.js';

/** The servers of tenants. Idle ones are forgotten where an isolate has more tenants than room. */
export class Tenants {
  /** Those that were asked for longest ago come first. */
  readonly #known = new Map<string, ForgettableHandler<unknown[]>>();
  readonly #make: (name: string) => ForgettableHandler<unknown[]>;
  readonly #most: number;

  /**
   * @param make - makes the server of a tenant.
   * @param most - how many servers are kept where some of them are idle.
   */
  constructor(make: (name: string) => ForgettableHandler<unknown[]>, most: number) {
    this.#make = make;
    this.#most = most;
  }

  /** How many servers there are. */
  get size(): number {
    return this.#known.size;
  }

  /** Returns the server of a tenant. */
  server(name: string): ListenHandler<unknown[]> {
    const known = this.#known.get(name);
    const listening = known ?? this.#make(name);
    this.#known.delete(name);
    this.#known.set(name, listening);
    if (known === undefined) this.#forgetIdle(name);
    return listening.server;
  }

  /** Forgets idle servers until there are no more than `most`; the newest is about to be used. */
  #forgetIdle(newest: string): void {
    if (this.#known.size <= this.#most) return;
    for (const [name, { isIdle }] of this.#known) {
      if (name === newest || !isIdle()) continue;
      this.#known.delete(name);
      if (this.#known.size <= this.#most) return;
    }
  }
}
