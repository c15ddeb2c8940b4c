import { deferred } from './deferred.js';

/**
 * Runs tasks in the I/O context of the request that created it, whichever request calls `run`.
 * workerd lets a request use only its own sockets and timers, and continues after an `await` in the
 * context of the request that awaits.
 */
export class RequestContext {
  readonly #onError: (error: Error) => void;
  #tasks: (() => void)[] = [];
  #wakeup = deferred();
  #isClosed = false;

  constructor(onError: (error: Error) => void) {
    this.#onError = onError;
    void this.#live();
  }

  /** Runs `task` after the earlier tasks. Does not run it if the request is gone. */
  run(task: () => void): void {
    if (this.#isClosed) return;
    this.#tasks.push(task);
    this.#wakeup.resolve();
  }

  /** Runs the pending tasks, and accepts no more. */
  close(): void {
    this.#isClosed = true;
    this.#wakeup.resolve();
  }

  async #live(): Promise<void> {
    // A task may add another task, and then close the context.
    while (!this.#isClosed || this.#tasks.length > 0) {
      await this.#wakeup.promise;
      this.#wakeup = deferred();
      this.#run();
    }
  }

  #run(): void {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) {
      try {
        task();
      } catch (error) {
        this.#onError(error as Error);
      }
    }
  }
}
