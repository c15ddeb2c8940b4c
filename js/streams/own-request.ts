import { DeadlineTimer } from '../timing/deadline-timer.js';
import { RequestContext } from '../timing/request-context.js';

/**
 * The request of one stream, where the host lets a request touch its own timers alone and cancels one that waits for nothing: whatever
 * belongs to the stream is done on behalf of this one, whoever asks.
 */
export class OwnRequest {
  readonly context: RequestContext;
  /** The stream's own. */
  readonly timer: DeadlineTimer;

  /** To be called on behalf of the request. */
  constructor(tick: () => void, onError: (error: Error) => void) {
    this.context = new RequestContext(onError);
    this.timer = new DeadlineTimer(tick);
  }

  /** The stream has ended. */
  leave(): void {
    this.timer.clear();
    this.context.close();
  }
}
