import { DeadlineTimer } from '../timing/deadline-timer.js';
import { ResponseBody } from './bodies/response-body.js';
import type { FanoutStream } from './fanout-stream.js';

/** The pending end of a stream whose core has trapped. */
export class TrapEnd {
  readonly #timer: DeadlineTimer;

  constructor(end: () => void) {
    this.#timer = new DeadlineTimer(end);
  }

  /**
   * Schedules the end at a random time, so that not all clients reconnect at once. Call it in the
   * request context of the stream.
   */
  arm({ owner }: FanoutStream): void {
    this.#timer.arm(performance.now() + Math.random() * owner.trapMs());
  }

  /** Closes the body and clears the timer. */
  end({ body }: FanoutStream): void {
    this.#timer.clear();
    if (body instanceof ResponseBody) body.close();
    else body?.close();
  }
}
