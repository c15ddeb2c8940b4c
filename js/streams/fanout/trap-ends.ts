import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { ResponseBody } from '../bodies/response-body.js';
import type { FanoutStream } from './stream.js';

/** The pending ends of streams whose core has trapped. */
export class TrapEnds {
  readonly #timers = new Map<FanoutStream, DeadlineTimer>();

  /** The streams that have not ended yet. */
  streams(): Iterable<FanoutStream> {
    return this.#timers.keys();
  }

  /** Whether the end of this stream is pending. */
  has(stream: FanoutStream): boolean {
    return this.#timers.has(stream);
  }

  /**
   * Schedules the end of a stream at a random time, in its request context, so that not all clients
   * reconnect at once.
   */
  schedule(stream: FanoutStream, end: () => void): void {
    const timer = new DeadlineTimer(end);
    this.#timers.set(stream, timer);
    const { owner } = stream;
    stream.inContext(() => timer.arm(performance.now() + Math.random() * owner.trapMs()));
  }

  /** Forgets a stream that ends. Returns whether its core had trapped. */
  take(stream: FanoutStream): boolean {
    this.#timers.get(stream)?.clear();
    return this.#timers.delete(stream);
  }
}

/** Closes the body of a stream whose core has trapped. */
export function endBody({ body }: FanoutStream): void {
  if (body instanceof ResponseBody) body.close();
  else body?.close();
}
