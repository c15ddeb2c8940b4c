/** What it took until the last of some frames was enqueued. */
export interface Spent {
  ms: number;
  /** Microseconds of processor time of this process. */
  cpu: number;
}

/** Counts what is enqueued on the streams of this process. */
export class EnqueuedFrames {
  #missing = 0;
  #begun = { at: 0, cpu: process.cpuUsage() };
  #resolve: (spent: Spent) => void = () => {};

  constructor() {
    const count = () => this.#count();
    for (const { prototype } of [ReadableStreamDefaultController, ReadableByteStreamController]) {
      const { enqueue } = prototype;
      prototype.enqueue = function (this: never, chunk: never) {
        enqueue.call(this, chunk);
        count();
      };
    }
  }

  /** Resolves once this many frames were enqueued from now on. */
  expect(frames: number): Promise<Spent> {
    this.#missing = frames;
    const enqueued = new Promise<Spent>((resolve) => {
      this.#resolve = resolve;
    });
    this.#begun = { at: performance.now(), cpu: process.cpuUsage() };
    return enqueued;
  }

  #count(): void {
    this.#missing -= 1;
    if (this.#missing !== 0) return;
    const ms = performance.now() - this.#begun.at;
    const { system, user } = process.cpuUsage(this.#begun.cpu);
    this.#resolve({ ms, cpu: system + user });
  }
}
