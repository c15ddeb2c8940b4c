import { type Deferred, deferred } from '../timing/deferred.js';

/**
 * Asks the bus before streams end, once for all whose moment has come while the question before was answered. Those then end as
 * far from each other as their moments were: a bus that is slow to answer makes ends later, and does not bring them together.
 */
export class FinalSettle {
  readonly #settle: () => Promise<unknown>;
  /** In the order of their moments. */
  #due: { at: number; settled: Deferred<void> }[] = [];
  /** What waits for a moment, by its timer. */
  readonly #sleeping = new Map<ReturnType<typeof setTimeout>, () => void>();
  #isStopped = false;

  /** @param settle - resolves once streams have received what was published before the call; must not reject. */
  constructor(settle: () => Promise<unknown>) {
    this.#settle = settle;
  }

  /** Resolves once what was published before `at`, on the clock of `performance.now()`, is received. In the order of `at`. */
  after(at: number): Promise<void> {
    const settled = deferred<void>();
    this.#due.push({ at, settled });
    return settled.promise;
  }

  /** Asks at each moment, until {@link FinalSettle.stop}; resolves after the last answer. */
  async ask(): Promise<void> {
    for (let next = this.#due[0]; next !== undefined; next = this.#due[0]) {
      // A timer may fire early by a part of a millisecond.
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

  /** Ends `ask` and its timers: all streams have ended. */
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
