import type { BusLink } from '../bus/bus.js';
import { Home } from '../home.js';

/** One stream of a shared line. */
export class Rider {
  readonly link: BusLink;
  readonly home: Home;
  #watch: ReturnType<typeof setTimeout> | null = null;
  #isGone = false;

  constructor(link: BusLink, onerror: (error: Error) => void) {
    this.link = link;
    this.home = new Home(onerror);
  }

  /** Whether its stream has gone. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Does something later, on behalf of its own request, unless it has gone by then. It waits for one thing at a time. */
  later(ms: number, action: () => void): void {
    this.#watch = setTimeout(() => {
      if (!this.#isGone) action();
    }, ms);
  }

  /**
   * Does something at the end, twice: at once, since a request that was cancelled runs nothing after this, and on behalf of
   * its request, since whoever ends the stream may be another one.
   */
  finally(action: () => void): void {
    this.home.ask(action);
    action();
  }

  /** The stream has gone: what its request still has to do is done. */
  leave(): void {
    this.#isGone = true;
    this.finally(() => clearTimeout(this.#watch));
    this.home.leave();
  }
}
