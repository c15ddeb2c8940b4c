import { readFile } from 'node:fs/promises';

/** Milliseconds that each process has waited for a processor so far; 0 except on Linux. */
export function waitsOf(pids: readonly number[]): Promise<number[]> {
  return Promise.all(pids.map(waitOf));
}

/** The longest wait of a process between two results of {@link waitsOf}. */
export function longestWait(before: readonly number[], after: readonly number[]): number {
  return Math.max(0, ...after.map((ms, place) => ms - (before[place] ?? ms)));
}

async function waitOf(pid: number): Promise<number> {
  const [, ns = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')).split(
    ' ',
  );
  return Number(ns) / 1e6;
}
