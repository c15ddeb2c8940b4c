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

  /** It has it no longer; on behalf of its own request. */
  release(holder: LineHolder): void {
    this.#held.delete(holder);
    holder.stop();
  }

  /**
   * The stream has gone: what its request still has to do is done, twice. At once, since a request that was cancelled runs
   * nothing after this; and on behalf of that request, since whoever ends the stream may be another one.
   */
  leave(): void {
    this.#isGone = true;
    this.home.ask(() => this.#stop());
    this.#stop();
    this.home.leave();
  }

  #stop(): void {
    clearTimeout(this.#watch);
    for (const holder of this.#held) holder.stop();
  }
}
