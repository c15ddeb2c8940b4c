import { type Deferred, deferred } from '../timing/deferred.js';

/**
 * Asks the bus for pending events before streams end. One request covers all streams that became
 * due while the previous one was pending. These then end at the intervals of their times: a slow
 * bus delays the ends but does not bunch them.
 */
export class FinalSettle {
  readonly #settle: () => Promise<unknown>;
  /** The streams in the order of their times. */
  #due: { at: number; settled: Deferred<void> }[] = [];
  /** The pending sleeps, by timer. */
  readonly #sleeping = new Map<ReturnType<typeof setTimeout>, () => void>();
  #isStopped = false;

  /**
   * @param settle - resolves once streams have received everything that was published before the
   *   call; must not reject.
   */
  constructor(settle: () => Promise<unknown>) {
    this.#settle = settle;
  }

  /**
   * Resolves once everything published before `at`, on the clock of `performance.now()`, was
   * received. Call it in ascending order of `at`.
   */
  after(at: number): Promise<void> {
    const settled = deferred<void>();
    this.#due.push({ at, settled });
    return settled.promise;
  }

  /** Asks the bus at each time, until {@link FinalSettle.stop}. Resolves after the last reply. */
  async run(): Promise<void> {
    for (let next = this.#due[0]; next !== undefined; next = this.#due[0]) {
      // A timer may fire a fraction of a millisecond early.
      await this.#sleep(next.at - performance.now() + 1);
      if (this.#isStopped) return;
      const now = performance.now();
      const due = this.#due.filter(({ at }) => at <= now);
      this.#due = this.#due.slice(due.length);
      await this.#settle();
      if (this.#isStopped) return;
      const [first = next] = due;
      for (const { at, settled } of due) void this.#sleep(at - first.at).then(settled.resolve);
    }
  }

  /** Ends `run` and its timers: all streams have ended. */
  stop(): void {
    this.#isStopped = true;
    for (const [timer, wake] of this.#sleeping) {
      clearTimeout(timer);
      wake();
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleeping.delete(timer);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(ms, 0));
      this.#sleeping.set(timer, wake);
    });
  }
}
