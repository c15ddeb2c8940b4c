import { loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';

/** The highest load average of a minute at which an experiment begins. */
export const MAX_LOAD = 0.5;

/** What {@link untilIdle} waits with. */
export interface Waiting {
  /** Prints on the terminal. */
  write: (text: string) => void;
  /** Returns the load average of the last minute. */
  load?: () => number;
  /** Resolves after milliseconds. */
  sleep?: (ms: number) => Promise<unknown>;
}

/**
 * Waits until the load is at most {@link MAX_LOAD}, for {@link LONGEST_MS} at most, and prints
 * that it does. Returns the seconds that it waited.
 */
export async function untilIdle({
  write,
  load = () => loadavg()[0] ?? 0,
  sleep = setTimeout,
}: Waiting): Promise<number> {
  let waited = 0;
  while (load() > MAX_LOAD && waited < LONGEST_MS) {
    if (waited === 0)
      write(`\nwaiting for a load of at most ${MAX_LOAD}, now it is ${load().toFixed(2)}\n`);
    await sleep(STEP_MS);
    waited += STEP_MS;
  }
  const last = load();
  if (last > MAX_LOAD) write(`the load is still ${last.toFixed(2)}: measuring beside other work\n`);
  return waited / 1_000;
}

/** Milliseconds after which an experiment begins at any load, which its results then state. */
export const LONGEST_MS = 600_000;
const STEP_MS = 5_000;
