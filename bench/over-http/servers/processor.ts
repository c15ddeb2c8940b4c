import { readdir, readFile } from 'node:fs/promises';

/**
 * Milliseconds of processor time of a process (Linux): of the threads that exist now and of those
 * that an earlier call has found. So differences are what counts. Exact to the nanosecond, or in
 * steps of 10 ms where the kernel does not count nanoseconds.
 */
export async function processorMs(pid: number): Promise<number> {
  const seen = threads.get(pid) ?? new Map<string, number>();
  threads.set(pid, seen);
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    // A thread that ends meanwhile keeps its last value.
    const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '');
    const [ns] = stat.split(' ');
    if (ns) seen.set(thread, Number(ns) / 1e6);
  }
  const ms = [...seen.values()].reduce((sum, used) => sum + used, 0);
  return ms > 0 ? ms : tickedMs(pid);
}

/** The milliseconds of each thread of each process, by their ids. */
const threads = new Map<number, Map<string, number>>();

async function tickedMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in brackets, may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [fields[11], fields[12]].map(Number);
  return ((user ?? 0) + (system ?? 0)) * TICK_MS;
}

const TICK_MS = 10;
