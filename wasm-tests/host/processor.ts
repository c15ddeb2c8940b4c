import { readFile } from 'node:fs/promises';

/** Milliseconds that each process has waited for a processor so far; 0 except on Linux. */
export function waitsOf(pids: readonly number[]): Promise<number[]> {
  return Promise.all(pids.map(waitOf));
}

/** The longest wait of a process between two results of {@link waitsOf}. */
export function longestWait(before: readonly number[], after: readonly number[]): number {
  return Math.max(0, ...after.map((ms, place) => ms - (before[place] ?? ms)));
}

/** Measures how long processes wait for a processor, each until it ends. */
export class ProcessorWatch {
  readonly #waits = new Map<number, [first?: number, last?: number]>();
  readonly #timer = setInterval(() => void this.#look(), LOOK_MS);
  #lookedAt = performance.now();
  #stalledMs = 0;

  /** Measures a process from now on. */
  add(pid: number): void {
    this.#waits.set(pid, []);
    void this.#look();
  }

  /**
   * Ends the watch. Resolves with the longest wait of a process in milliseconds, or the longest
   * time in which this process stood still: a machine that is itself suspended counts no waits.
   */
  async stop(): Promise<number> {
    clearInterval(this.#timer);
    await this.#look();
    const waits = [...this.#waits.values()].map(([first = 0, last = 0]) => last - first);
    return Math.max(this.#stalledMs, ...waits);
  }

  async #look(): Promise<void> {
    const now = performance.now();
    this.#stalledMs = Math.max(this.#stalledMs, now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
    for (const pid of this.#waits.keys()) {
      const ms = await waitOf(pid);
      const [first = ms, last = ms] = this.#waits.get(pid) ?? [];
      // A process that has ended has no wait any more.
      this.#waits.set(pid, [first, Math.max(ms, last)]);
    }
  }
}

async function waitOf(pid: number): Promise<number> {
  const [, ns = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')).split(
    ' ',
  );
  return Number(ns) / 1e6;
}

/** Milliseconds between two looks at the waits, in case the process ends before the next one. */
const LOOK_MS = 50;
