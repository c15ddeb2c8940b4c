import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { RequestContext } from '../../timing/request-context.js';
import type { FanoutStream } from '../fanout-stream.js';
import type { ConnectionOwner } from './owner.js';

/** One stream of a shared line, with what its request has of the line: perhaps the socket, and otherwise a timer. */
export class Member {
  readonly stream: FanoutStream;
  readonly context: RequestContext;
  readonly #timer: DeadlineTimer;
  #holder: ConnectionOwner | undefined;
  #isGone = false;

  /**
   * To be called on behalf of the stream's own request, or of one that the stream's own asks to go on: see {@link FanoutStream.request}.
   * `ring` is called when the timer has come, on behalf of the request that has set it.
   */
  constructor(stream: FanoutStream, ring: () => void, onError: (error: Error) => void) {
    this.stream = stream;
    this.context = stream.request?.context ?? new RequestContext(onError);
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
  hold(holder: ConnectionOwner): void {
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
    this.context.run(() => this.#timer.clear());
    this.#timer.clear();
  }
}
