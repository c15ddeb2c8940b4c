import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { RequestContext } from '../../timing/request-context.js';
import type { FanoutStream } from '../fanout/stream.js';

/** Something that can be stopped. */
interface Stoppable {
  stop(): void;
}

/**
 * One stream of a shared connection. Its request owns the socket, or checks by a timer that another
 * request does.
 */
export class Member {
  readonly stream: FanoutStream;
  readonly context: RequestContext;
  readonly #timer: DeadlineTimer;
  #owner: Stoppable | undefined;
  #isGone = false;
  #wasLate = false;

  /**
   * Call this in the request of the stream, unless the stream keeps a request context: see {@link
   * FanoutStream.request}. `onTimer` is called when the timer fires, in the context of the request
   * that armed it.
   */
  constructor(stream: FanoutStream, onTimer: () => void, onError: (error: Error) => void) {
    this.stream = stream;
    this.context = stream.request?.context ?? new RequestContext(onError);
    this.#timer = new DeadlineTimer(() => {
      if (!this.#isGone) onTimer();
    });
  }

  /** Whether the stream has ended. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Returns whether its timers are late by more than `ms` milliseconds, as they were at the
   * previous call: its request has died without cancelling the stream.
   */
  isDead(ms: number): boolean {
    const wasLate = this.#wasLate;
    this.#wasLate = this.#timer.isLate(ms) || this.stream.request?.timer.isLate(ms) === true;
    return wasLate && this.#wasLate;
  }

  /** Sets the timer, in the I/O context of its request. */
  arm(deadline: number | undefined): void {
    this.#timer.arm(deadline);
  }

  /** Makes its request the owner of the socket. */
  own(owner: Stoppable): void {
    this.#owner = owner;
  }

  /** Gives up the socket. */
  release(): void {
    this.#owner?.stop();
    this.#owner = undefined;
  }

  /** Handles the end of the stream: gives up the socket and clears the timer. */
  leave(): void {
    this.#isGone = true;
    this.release();
    // Clears the timer in both contexts: another request may end the stream, and its own request,
    // if it was cancelled, runs nothing after this.
    this.context.run(() => this.#timer.clear());
    this.#timer.clear();
  }
}
