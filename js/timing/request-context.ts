import { deferred } from './deferred.js';

/**
 * Runs things on behalf of the request that made it, whichever asks: workerd lets a request touch only its own sockets
 * and timers, and runs what follows an `await` on behalf of the request that awaits.
 */
export class Home {
  readonly #onerror: (error: Error) => void;
  #errands: (() => void)[] = [];
  #call = deferred();
  #isLeft = false;

  constructor(onerror: (error: Error) => void) {
    this.#onerror = onerror;
    void this.#live();
  }

  /** Runs `errand`, in the order of asking; never, where the request is gone. */
  ask(errand: () => void): void {
    if (this.#isLeft) return;
    this.#errands.push(errand);
    this.#call.resolve();
  }

  /** Runs what was asked, and nothing that is asked from now on. */
  leave(): void {
    this.#isLeft = true;
    this.#call.resolve();
  }

  async #live(): Promise<void> {
    // An errand may ask for another one, and leave.
    while (!this.#isLeft || this.#errands.length > 0) {
      await this.#call.promise;
      this.#call = deferred();
      this.#run();
    }
  }

  #run(): void {
    const errands = this.#errands;
    this.#errands = [];
    for (const errand of errands) {
      try {
        errand();
      } catch (error) {
        this.#onerror(error as Error);
      }
    }
  }
}
