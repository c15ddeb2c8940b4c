import { readdir, readFile } from 'node:fs/promises';

/**
 * Milliseconds of processor time of all threads of a process (Linux). Exact to the nanosecond while
 * no thread ends; the time of threads that have ended is known in steps of 10 ms.
 */
export async function processorMs(pid: number): Promise<number> {
  // Ticks are rounded down, so they exceed the exact sum only if it lacks threads that have ended.
  return Math.max(await tickedMs(pid), await scheduledMs(pid));
}

/** What the threads that exist now have used; 0 where the kernel does not count it. */
async function scheduledMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = threads.map(async (thread) => {
    const file = `/proc/${pid}/task/${thread}/schedstat`;
    const [ns = '0'] = (await readFile(file, 'utf8').catch(() => '')).split(' ');
    return Number(ns) / 1e6;
  });
  return (await Promise.all(used)).reduce((sum, ms) => sum + ms, 0);
}

async function tickedMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in brackets, may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [fields[11], fields[12]].map(Number);
  return ((user ?? 0) + (system ?? 0)) * TICK_MS;
}

const TICK_MS = 10;
