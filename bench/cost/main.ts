import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from '../../scripts/build/build.mjs';
import { main } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { setUp } from '../../scripts/setup/setup.mjs';
import { thisMachine } from '../harness/record/machine.ts';
import { thisRun } from '../harness/record/run.ts';
import { type CostResults, documentOf, withBlock } from './document.ts';
import { Example } from './example.ts';

/**
 * Counts the operations of objects in the example of docs/cost.md, and writes results.json and the
 * tables of that page.
 */
async function cost(): Promise<void> {
  const isQuick = process.argv.includes('--quick');
  if (process.argv.includes('--report'))
    return write(JSON.parse(await readFile(RESULTS, 'utf8')) as CostResults);
  await setUp();
  await build();
  const [machine, run] = [
    await thisMachine(),
    { ...(await thisRun([])), command: 'npm run bench:cost' },
  ];
  const sizes = isQuick ? QUICK : FULL;
  const counted = [await Example.run('auto', sizes), await Example.run('each', sizes)];
  const results: CostResults = { run, machine, sizes, counted };
  if (isQuick) process.stdout.write(documentOf(results));
  else await write(results);
}

async function write(results: CostResults): Promise<void> {
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(PAGE, withBlock(await readFile(PAGE, 'utf8'), documentOf(results)));
  process.stdout.write(documentOf(results));
}

const RESULTS = join(root, 'bench', 'cost', 'results.json');
const PAGE = join(root, 'docs', 'cost.md');
const FULL = { streams: 1_000, opens: 200, changes: 40, wakes: 4 };
const QUICK = { streams: 100, opens: 10, changes: 5, wakes: 1 };

await main(import.meta.url, cost);
