import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { RequestContext } from '../../timing/request-context.js';

/**
 * The request context of one stream, for hosts that let a request touch only its own timers and
 * cancel a request that waits for nothing. Everything that belongs to the stream runs in this
 * context.
 */
export class OwnRequest {
  readonly context: RequestContext;
  /** The timer of the stream. */
  readonly timer: DeadlineTimer;

  /** Call this in the request. */
  constructor(tick: () => void, onError: (error: Error) => void) {
    this.context = new RequestContext(onError);
    this.timer = new DeadlineTimer(tick);
  }

  /** Handles the end of the stream. */
  leave(): void {
    this.timer.clear();
    this.context.close();
  }
}
