import { ignoringTrap } from '../wasm/server/guard.js';

/** A timer for deadlines that mostly move later: it catches up with them when it fires. */
export class DeadlineTimer {
  readonly #fire: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = 0;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  /** Returns whether the timer, as it is set, fires in time. */
  covers(deadline: number | undefined): boolean {
    return deadline === undefined || (this.#timer !== undefined && this.#firesAt <= deadline);
  }

  /** Returns whether the timer should have fired `ms` milliseconds ago, and has not. */
  isLate(ms: number): boolean {
    return this.#timer !== undefined && this.#firesAt + ms < performance.now();
  }

  /** Sets the timer, unless it fires earlier; `deadline` is on the clock of `performance.now()`. */
  arm(deadline: number | undefined): void {
    if (deadline === undefined || this.covers(deadline)) return;
    this.clear();
    this.#firesAt = deadline;
    this.#timer = setTimeout(this.#tick, Math.max(deadline - performance.now(), 0) + 1);
    // Only Node has `unref`: a stream that is not read must not keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /**
   * Sets the timer, or clears it without a deadline, because an object with a timer cannot
   * hibernate.
   */
  set(deadline: number | undefined): void {
    if (deadline === undefined) this.clear();
    else this.arm(deadline);
  }

  /** Clears the timer. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #tick = (): void => {
    this.#timer = undefined;
    ignoringTrap(this.#fire);
  };
}
