import type { FannedStream } from '../fanned-stream.js';
import { Home } from '../home.js';
import type { LineHolder } from './line-holder.js';
import { WRITE_BUDGET } from './write-budget.js';

/** One stream of a shared line, with what its request does for the line. */
export class Rider {
  readonly stream: FannedStream;
  readonly home: Home;
  /** How many writes to streams its request has done so far, whenever it had the socket. */
  writes = 0;
  readonly #held = new Set<LineHolder>();
  #watch: ReturnType<typeof setTimeout> | null = null;
  #isGone = false;

  /** To be called on behalf of the stream's own request, or of one that the stream's own asks to go on: see {@link FannedStream.request}. */
  constructor(stream: FannedStream, onerror: (error: Error) => void) {
    this.stream = stream;
    this.home = stream.request?.home ?? new Home(onerror);
  }

  /** Whether its stream has gone. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether its request has done so much for others that it must not have the socket again. */
  get isSpent(): boolean {
    return this.writes >= WRITE_BUDGET.writes;
  }

  /** Does something later, on behalf of its own request, unless it has gone by then. It waits for one thing at a time. */
  later(ms: number, action: () => void): void {
    this.#watch = setTimeout(() => {
      if (!this.#isGone) action();
    }, ms);
  }

  #clear(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
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
    this.home.ask(() => this.#clear());
    this.#clear();
  }
}
