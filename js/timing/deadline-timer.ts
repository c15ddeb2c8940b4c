import { ignoringTrap } from '../wasm/server/guard.js';

/** One timer for deadlines that mostly move further away: it catches up with those when it fires. */
export class DeadlineTimer {
  readonly #fire: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = 0;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  /** Whether it fires in time as it is. */
  covers(deadline: number | undefined): boolean {
    return deadline === undefined || (this.#timer !== undefined && this.#firesAt <= deadline);
  }

  /** Sets the timer, unless it fires before; `deadline` is on the clock of `performance.now()`. */
  arm(deadline: number | undefined): void {
    if (deadline === undefined || this.covers(deadline)) return;
    this.clear();
    this.#firesAt = deadline;
    this.#timer = setTimeout(this.#tick, Math.max(deadline - performance.now(), 0) + 1);
    // Node alone has `unref`: a stream nobody reads must not keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Sets the timer, or takes it back where there is no deadline: an object with a timer cannot hibernate. */
  set(deadline: number | undefined): void {
    if (deadline === undefined) this.clear();
    else this.arm(deadline);
  }

  /** Forgets the deadline. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #tick = (): void => {
    this.#timer = undefined;
    ignoringTrap(this.#fire);
  };
}
