import { readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';
import { rowOf, withRow } from './record/long-runs.mjs';
import { treeState } from './record/tree.mjs';
import { faultResults, webhookResult } from './results.mjs';
import { faultTable, obstacles, webhookText } from './table.mjs';
import { vitest } from './vitest.mjs';

/** @import { FaultRun } from './table.mjs' */

/** The page with the results of a full run. */
const page = join(root, 'docs', 'verification.md');

/**
 * Injects every fault. Writes the table and the row of webhooks if all scenarios and the test of
 * webhooks ran to their end at one commit, in a tree without changes, and on a machine that was
 * idle enough; otherwise prints the reason and fails. Arguments are passed to vitest, and then
 * nothing is written.
 */
async function checkFaults() {
  const vitestArgs = process.argv.slice(2);
  await setUp();
  await build();
  const start = { at: new Date(), load: loadavg()[0] ?? 0, tree: await treeState() };
  for (const file of [faultResults, webhookResult]) await rm(file, { force: true });
  process.exitCode = await vitest(['--project', 'faults', ...vitestArgs], {
    ...environment,
    FAULTS: 'all',
  });
  const run = await faultRun();
  const text = `${await circumstances(start)}\n\n${faultTable(run.results)}`;
  process.stdout.write(`\n${text}\n`);
  if (vitestArgs.length > 0) return;
  const reasons = obstacles(run, start.tree, await treeState());
  if (reasons.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`docs/verification.md was not written: ${reasons.join('; ')}\n`);
    return;
  }
  const before = await readFile(page, 'utf8');
  const after = before.replace(marked, () => `${BEGIN}\n\n${text}\n\n${END}`);
  await writeFile(page, withRow(after, webhookRow(run, start)));
}

/**
 * @param {FaultRun} run
 * @param {{ load: number, tree: import('./record/tree.mjs').Tree }} start
 */
function webhookRow({ webhooks }, { load, tree }) {
  if (webhooks === undefined) throw new Error('the events of webhooks have no result');
  const check = '`npm run check:faults`, webhooks';
  return rowOf(check, webhookText(webhooks), { commit: tree.commit, load });
}

/** @returns {Promise<FaultRun>} */
async function faultRun() {
  const [run, webhooks] = await Promise.all([faultResults, webhookResult].map(readResult));
  return { ...(run ?? { scenarios: [], results: [] }), webhooks };
}

/**
 * Returns the content of a file, undefined if the arguments left its test out or the test failed.
 * @param {string} file
 */
async function readResult(file) {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * Returns when, where and with which versions this ran, and the load of the machine, which affects
 * times.
 * @param {{ at: Date, load: number, tree: import('./record/tree.mjs').Tree }} begun
 */
async function circumstances({ at, load, tree }) {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const state = tree.isDirty ? 'with changes that are not committed' : 'a clean tree';
  const node = `Node ${process.versions.node}, ${process.platform}`;
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  const others = `a load of ${load.toFixed(1)} from elsewhere at the start`;
  const begun = `${at.toISOString().slice(0, 10)}, at ${tree.commit}, ${state}`;
  return (
    `\`npm run check:faults\` on ${begun}:\nworkerd ${devDependencies.workerd}, ${node};\n` +
    `all processes on one machine with ${availableParallelism()} cores, ${memory}, ${others}.`
  );
}

const BEGIN = '<!-- npm run check:faults writes from here -->';
const END = '<!-- to here -->';
const marked = new RegExp(`${BEGIN}[^]*?${END}`);

await main(import.meta.url, checkFaults);
