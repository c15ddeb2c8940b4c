import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';

/** Waits in real time, in which I/O makes progress, while a virtual clock stands still. */
export async function until(is: () => boolean): Promise<void> {
  const end = realMs() + 20_000;
  while (!is()) {
    if (realMs() > end) throw new Error('nothing happened');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Advances a virtual clock. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/**
 * Waits for what is under way, and for what should not happen: for 15 ms of the processor time of
 * this process, which takes longer on a busy machine. In between it waits for the threads that
 * compute signatures, which may get no processor while this one runs.
 */
export async function settle(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await new Promise((resolve) => randomBytes(1, resolve));
    await turnsFor(5_000);
  }
}

/** Lets the event loop turn for some microseconds of processor time. */
async function turnsFor(us: number): Promise<void> {
  const begun = process.cpuUsage();
  for (let spent = 0; spent < us; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const { system, user } = process.cpuUsage(begun);
    spent = system + user;
  }
}

/** Advances a virtual clock in steps, in which I/O makes progress, until something is. */
export async function elapsed(is: () => boolean, stepMs = 1_000): Promise<void> {
  for (let steps = 0; !is(); steps += 1) {
    if (steps > 400) throw new Error('nothing happened');
    await settle();
    if (!is()) await pass(stepMs);
  }
}

/** Milliseconds of a clock that is never virtual. */
function realMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
