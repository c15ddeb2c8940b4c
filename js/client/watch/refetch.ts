/** Runs a task again whenever it is asked to: once at a time, and once more for all that was asked meanwhile. */
export class Refetch {
  readonly #task: () => unknown;
  readonly #failed: (error: unknown) => void;
  readonly #rests: () => void;
  #isRunning = false;
  #isAsked = false;

  /** `rests` is called when nothing is left to run. */
  constructor(task: () => unknown, failed: (error: unknown) => void, rests: () => void) {
    this.#task = task;
    this.#failed = failed;
    this.#rests = rests;
  }

  /** Asks for another run. */
  ask(): void {
    this.#isAsked = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      try {
        await this.#task();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isRunning = false;
    this.#rests();
  }
}
