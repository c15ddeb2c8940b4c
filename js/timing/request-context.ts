import { deferred } from './deferred.js';

/**
 * Runs things on behalf of the request that made it, whichever asks: workerd lets a request touch only its own sockets
 * and timers, and runs what follows an `await` on behalf of the request that awaits.
 */
export class RequestContext {
  readonly #onError: (error: Error) => void;
  #tasks: (() => void)[] = [];
  #call = deferred();
  #isLeft = false;

  constructor(onError: (error: Error) => void) {
    this.#onError = onError;
    void this.#live();
  }

  /** Runs `task`, in the order of asking; never, where the request is gone. */
  run(task: () => void): void {
    if (this.#isLeft) return;
    this.#tasks.push(task);
    this.#call.resolve();
  }

  /** Runs what was asked, and nothing that is asked from now on. */
  close(): void {
    this.#isLeft = true;
    this.#call.resolve();
  }

  async #live(): Promise<void> {
    // An task may ask for another one, and leave.
    while (!this.#isLeft || this.#tasks.length > 0) {
      await this.#call.promise;
      this.#call = deferred();
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
