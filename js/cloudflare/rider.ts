import type { BusLink } from '../bus/bus.js';
import { Home } from '../home.js';
import type { LineHolder } from './line-holder.js';

/** One stream of a shared line. */
export class Rider {
  readonly link: BusLink;
  readonly home: Home;
  readonly #held = new Set<LineHolder>();
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

  /** Its request has this socket from now on. */
  hold(holder: LineHolder): void {
    this.#held.add(holder);
  }

  /** It has it no longer. */
  release(holder: LineHolder): void {
    this.#held.delete(holder);
    holder.stop();
  }

  /** The stream has gone: what its request still has to do is done. */
  leave(): void {
    this.#isGone = true;
    for (const holder of this.#held) holder.stop();
    // Whoever ends the stream may be another request; and its own, where it was cancelled, runs nothing after this.
    this.home.ask(() => clearTimeout(this.#watch));
    clearTimeout(this.#watch);
    this.home.leave();
  }
}
