/**
 * Returns monotonic milliseconds that also count the time the machine sleeps, which
 * `performance.now()` does not do on every host: a stream that was suspended past its keep-alives
 * must count as silent.
 */
export function now(): number {
  const wall = Date.now();
  const steady = performance.now();
  elapsed += Math.max(wall - lastWall, steady - lastSteady, 0);
  lastWall = wall;
  lastSteady = steady;
  return elapsed;
}

/**
 * A timer for one deadline on the clock of {@link now}. It wakes at least every 10 seconds, to
 * notice that the machine slept.
 */
export class WakeTimer {
  readonly #fire: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Undefined while the timer does not run. */
  #deadline: number | undefined;

  constructor(fire: () => void) {
    this.#fire = fire;
  }

  /** Moves the deadline; undefined clears it. */
  set(deadline: number | undefined): void {
    if (deadline === this.#deadline) return;
    this.#deadline = deadline;
    clearTimeout(this.#timer);
    this.#arm();
  }

  /** Sets the deadline, unless the timer fires earlier. */
  setBefore(deadline: number): void {
    // After a sleep the timer may fire long after its deadline: it is set again.
    this.set(Math.min(deadline, Math.max(this.#deadline ?? deadline, now())));
  }

  #arm(): void {
    if (this.#deadline === undefined) return;
    const wait = Math.min(Math.max(this.#deadline - now(), 0) + 1, MAX_SLEEP_MS);
    this.#timer = setTimeout(this.#tick, wait);
  }

  readonly #tick = (): void => {
    if (this.#deadline !== undefined && this.#deadline <= now()) {
      this.#deadline = undefined;
      this.#fire();
    } else this.#arm();
  };
}

const MAX_SLEEP_MS = 10_000;
let elapsed = 0;
let lastWall = Date.now();
let lastSteady = performance.now();
