import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from '../../scripts/build/build.mjs';
import { main } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { setUp } from '../../scripts/setup/setup.mjs';
import type { Run } from '../harness/outcome.ts';
import { untilIdle } from '../harness/record/idle.ts';
import type { Machine } from '../harness/record/machine.ts';
import { thisMachine } from '../harness/record/machine.ts';
import { withBlock } from '../harness/record/page.ts';
import { thisRun } from '../harness/record/run.ts';
import { type CostResults, documentOf } from './document.ts';
import { EventExample } from './events.ts';
import { type EventResults, eventsDocumentOf } from './events-document.ts';
import { Example } from './example.ts';
import { serverlessTables } from './serverless.ts';

/**
 * Counts the operations of objects in the examples of docs/cost.md, and writes results.json and the
 * tables of that page. `--events` counts those of MCP Events alone.
 */
async function cost(): Promise<void> {
  const isQuick = process.argv.includes('--quick');
  if (process.argv.includes('--report')) return write(await former());
  await setUp();
  await build();
  const waited = await untilIdle({ write: (text) => process.stderr.write(text) });
  const [machine, run] = [
    await thisMachine(),
    { ...(await thisRun([], waited)), command: 'npm run bench:cost' },
  ];
  const isEvents = process.argv.includes('--events');
  const ofEvents = await countedEvents(machine, run, isQuick);
  const results = isEvents ? await former() : await counted(machine, run, isQuick);
  const all: CostResults = { ...results, events: ofEvents };
  if (isQuick) process.stdout.write(documentOf(all) + eventsDocumentOf(ofEvents));
  else await write(all);
}

async function counted(machine: Machine, run: Run, isQuick: boolean): Promise<CostResults> {
  const sizes = isQuick ? QUICK : FULL;
  const counts = [await Example.run('auto', sizes), await Example.run('each', sizes)];
  return { run, machine, sizes, counted: counts };
}

async function countedEvents(machine: Machine, run: Run, isQuick: boolean): Promise<EventResults> {
  const sizes = isQuick ? QUICK_EVENTS : EVENTS;
  return { run, machine, sizes, counted: await EventExample.run(sizes) };
}

async function former(): Promise<CostResults> {
  return JSON.parse(await readFile(RESULTS, 'utf8')) as CostResults;
}

async function write(results: CostResults): Promise<void> {
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  const { events } = results;
  const blocks = {
    counted: documentOf(results),
    ...(events && { events: eventsDocumentOf(events) }),
    ...serverlessTables(),
  };
  let page = await readFile(PAGE, 'utf8');
  for (const [name, text] of Object.entries(blocks)) page = withBlock(page, text, name);
  await writeFile(PAGE, page);
  process.stdout.write(Object.values(blocks).join('\n'));
}

const RESULTS = join(root, 'bench', 'cost', 'results.json');
const PAGE = join(root, 'docs', 'cost.md');
const FULL = { streams: 1_000, opens: 200, changes: 40, wakes: 4 };
const EVENTS = { events: 40, streams: 40, webhooks: 10 };
const QUICK_EVENTS = { events: 3, streams: 4, webhooks: 3 };
const QUICK = { streams: 100, opens: 10, changes: 5, wakes: 1 };

await main(import.meta.url, cost);
