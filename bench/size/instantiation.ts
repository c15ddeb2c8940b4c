import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { startWorkerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../wasm-tests/host/bundle.ts';

/**
 * Milliseconds in a new process.
 *
 * @param program - runs scripts, with `args` before the script.
 */
export async function instantiation(
  program = 'node',
  ...args: string[]
): Promise<Record<string, number>> {
  const script = join(import.meta.dirname, 'instantiate.ts');
  return JSON.parse(await run(program, [...args, script])) as Record<string, number>;
}

/**
 * The mean of several instances in a new workerd, which compiles modules before a Worker runs. Its
 * clock has a resolution of one millisecond.
 */
export async function instantiationOnWorkerd(): Promise<Record<string, number>> {
  bundle ??= bundleWorker('bench/workers/instantiate');
  const workerd = await startWorkerd({ bundle: await bundle, edges: 1, durableObjects: [] });
  try {
    return (await (await fetch(workerd.edges[0] ?? '')).json()) as Record<string, number>;
  } finally {
    await workerd.kill();
  }
}

let bundle: Promise<string> | undefined;
