import { now } from './clock.js';
import { ClientRenewal } from './core.js';
import { clientLife } from './life.js';

/** When a subscription that has ended is opened again: as the core says, or where that has trapped, without it. */
export class Renewal {
  #core: ClientRenewal | undefined;
  #life = 0;
  #trappedAt = Number.NEGATIVE_INFINITY;

  /** The subscription is open, with nothing to hear where `isEmpty`. */
  live(isEmpty: boolean): void {
    this.#current.live(isEmpty, now());
  }

  /** When to open the next, as `ask` learns it of the core; undefined: never. */
  next(ask: (core: ClientRenewal, time: number) => number | undefined): number | undefined {
    try {
      return ask(this.#current, now());
    } catch (error) {
      if (!clientLife.isOfTrap(error)) throw error;
      return this.trapped();
    }
  }

  /** When to open the next after a trap: soon, but what traps again and again must not ask a server all the time. */
  trapped(): number {
    const time = now();
    const ceiling = time - this.#trappedAt > CALM_MS ? SOON_MS : CALM_MS;
    this.#trappedAt = time;
    return time + Math.random() * ceiling;
  }

  /** Gives its memory back. */
  free(): void {
    this.#core?.free();
  }

  /** What the core knew in a former life is forgotten. */
  get #current(): ClientRenewal {
    if (this.#core === undefined || this.#life !== clientLife.number) {
      this.#core = new ClientRenewal(Math.random());
      this.#life = clientLife.number;
    }
    return this.#core;
  }
}

/** The first and the last ceiling of the core. */
const SOON_MS = 500;
const CALM_MS = 30_000;
