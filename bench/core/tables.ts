import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { main } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { untilIdle } from '../harness/record/idle.ts';
import { thisMachine } from '../harness/record/machine.ts';
import { withBlock } from '../harness/record/page.ts';
import { thisRun } from '../harness/record/run.ts';

/**
 * Runs a benchmark of the core, and replaces its part of a page of the book with the tables that it
 * prints.
 */
async function tables(): Promise<void> {
  const [, , name = ''] = process.argv;
  const page = PAGES[name];
  if (page === undefined) throw new Error(`tables has no page for ${JSON.stringify(name)}`);
  // A compiler would be the load that the measurement waits for.
  await run('cargo', ['bench', '--quiet', '--no-run', '--bench', name]);
  const waited = await untilIdle({ write: (text) => process.stderr.write(text) });
  const [{ commit, load }, { cpu, date }] = [await thisRun([], waited), await thisMachine()];
  const printed = await run('cargo', ['bench', '--quiet', '--bench', name]);
  const day = date.slice(0, 10);
  const measured = `Measured at commit ${commit} on ${day}, ${cpu}, load before ${load}:`;
  const file = join(root, page);
  const block = `${measured}\n\n${printed.trim()}\n`;
  await writeFile(file, withBlock(await readFile(file, 'utf8'), block, name));
  process.stdout.write(block);
}

/** The page of each benchmark. */
const PAGES: Record<string, string> = {
  names: 'docs/scale.md',
  overhead: 'docs/observability.md',
  scale: 'docs/scale.md',
};

await main(import.meta.url, tables);
