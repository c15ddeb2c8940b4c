import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from '../../scripts/build/build.mjs';
import { run } from '../../scripts/process/command.mjs';
import { main } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { setUp } from '../../scripts/setup/setup.mjs';
import { untilIdle } from '../harness/record/idle.ts';
import { thisMachine } from '../harness/record/machine.ts';
import { thisRun } from '../harness/record/run.ts';
import type { Growth } from './growth.ts';

/**
 * Measures the memory of one unread stream with each server, in separate processes, and writes
 * results.json.
 */
async function unread(): Promise<void> {
  await setUp();
  await build();
  const events = Number(process.argv[2] ?? EVENTS);
  const waited = await untilIdle({ write: (text) => process.stderr.write(text) });
  const run = { ...(await thisRun([], waited)), command: 'npm run bench:unread' };
  const results = { run, machine: await thisMachine(), events, grown: await grown(events) };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  process.stdout.write(await readFile(RESULTS, 'utf8'));
}

/** The growth with each server, in rounds that take turns. */
async function grown(events: number): Promise<Record<string, Growth[]>> {
  const rounds: Record<string, Growth[]> = {};
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, server] of Object.entries(SERVERS)) {
      const printed = await run('node', ['--expose-gc', CHILD, server, `${events}`]);
      rounds[name] = [...(rounds[name] ?? []), JSON.parse(printed) as Growth];
    }
  return rounds;
}

const RESULTS = join(root, 'bench', 'unread', 'results.json');
const CHILD = join(root, 'bench', 'unread', 'growth.ts');
const EVENTS = 1_000_000;
const ROUNDS = 3;
const SERVERS = { 'mcp-listen': 'listen', 'TypeScript SDK': 'sdk' };

await main(import.meta.url, unread);
