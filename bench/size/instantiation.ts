import { join } from 'node:path';
import { run } from '../../scripts/command.mjs';

/** Times in a process that has never seen the module. */
export async function instantiation(): Promise<Record<string, number>> {
  return JSON.parse(await run('node', [join(import.meta.dirname, 'instantiate.ts')])) as Record<string, number>;
}
