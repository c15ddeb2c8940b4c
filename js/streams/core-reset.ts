import { DeadlineTimer } from '../timing/deadline-timer.js';
import { ResponseBody } from './bodies/response-body.js';
import type { FanoutStream } from './fanout-stream.js';

/** The end of a stream whose core has trapped. */
export class TrapEnd {
  readonly #timer: DeadlineTimer;

  constructor(end: () => void) {
    this.#timer = new DeadlineTimer(end);
  }

  /** It comes at a moment of its own, so that not all clients come back at once. To be called on behalf of the stream's own request. */
  arm({ owner }: FanoutStream): void {
    this.#timer.arm(performance.now() + Math.random() * owner.trapMs());
  }

  /** It has come. */
  end({ body }: FanoutStream): void {
    this.#timer.clear();
    if (body instanceof ResponseBody) body.close();
    else body?.close();
  }
}
