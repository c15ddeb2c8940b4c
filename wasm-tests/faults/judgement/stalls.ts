import { setTimeout } from 'node:timers/promises';

/** A span in which this process or another one did not run, by `performance.now`. */
export interface Stall {
  from: number;
  to: number;
}

/**
 * Asks other processes until a promise settles, and resolves with the stalls of a second or more.
 *
 * @param ask - resolves once all of them have replied.
 */
export async function stallsUntil(
  over: Promise<unknown>,
  ask: () => Promise<unknown>,
): Promise<Stall[]> {
  let isOver = false;
  const finish = (): void => {
    isOver = true;
  };
  void over.then(finish, finish);
  const stalls: Stall[] = [];
  for (let from = performance.now(); !isOver; ) {
    await setTimeout(PAUSE_MS);
    await ask();
    const to = performance.now();
    if (to - from >= LEAST_MS) stalls.push({ from, to });
    from = to;
  }
  return stalls;
}

/** Milliseconds of stalls between two times. */
export function stalledMs(stalls: readonly Stall[], from: number, to: number): number {
  const within = (stall: Stall) => Math.min(stall.to, to) - Math.max(stall.from, from);
  return stalls.reduce((ms, stall) => ms + Math.max(within(stall), 0), 0);
}

const PAUSE_MS = 50;
const LEAST_MS = 1_000;
