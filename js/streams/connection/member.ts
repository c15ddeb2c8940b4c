import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { Home } from '../../timing/request-context.js';
import type { FannedStream } from '../fanout-stream.js';
import type { LineHolder } from './owner.js';

/** One stream of a shared line, with what its request has of the line: perhaps the socket, and otherwise a timer. */
export class Rider {
  readonly stream: FannedStream;
  readonly home: Home;
  readonly #timer: DeadlineTimer;
  #holder: LineHolder | undefined;
  #isGone = false;

  /**
   * To be called on behalf of the stream's own request, or of one that the stream's own asks to go on: see {@link FannedStream.request}.
   * `ring` is called when the timer has come, on behalf of the request that has set it.
   */
  constructor(stream: FannedStream, ring: () => void, onerror: (error: Error) => void) {
    this.stream = stream;
    this.home = stream.request?.home ?? new Home(onerror);
    this.#timer = new DeadlineTimer(() => {
      if (!this.#isGone) ring();
    });
  }

  /** Whether its stream has gone. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sets its timer, in the I/O context of its request. */
  arm(deadline: number | undefined): void {
    this.#timer.arm(deadline);
  }

  /** Its request has this socket from now on. */
  hold(holder: LineHolder): void {
    this.#holder = holder;
  }

  /** It has it no longer. */
  release(): void {
    this.#holder?.stop();
    this.#holder = undefined;
  }

  /** The stream has gone: what its request still has to do is done. */
  leave(): void {
    this.#isGone = true;
    this.release();
    // Whoever ends the stream may be another request; and its own, where it was cancelled, runs nothing after this.
    this.home.ask(() => this.#timer.clear());
    this.#timer.clear();
  }
}
