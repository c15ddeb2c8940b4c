import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';
import { faultResults } from './results.mjs';
import { faultTable, obstacles } from './table.mjs';
import { treeState } from './tree.mjs';
import { vitest } from './vitest.mjs';

/** The page with the results of a full run. */
const page = join(root, 'docs', 'verification.md');

/**
 * Injects every fault. Writes the table if all scenarios ran at one commit, in a tree without
 * changes, and on a machine that was idle enough; otherwise prints the reason and fails. Arguments
 * are passed to vitest, and then nothing is written.
 */
async function checkFaults() {
  const vitestArgs = process.argv.slice(2);
  await setUp();
  await build();
  const start = { at: new Date(), load: loadavg()[0] ?? 0, tree: await treeState() };
  process.exitCode = await vitest(['--project', 'faults', ...vitestArgs], {
    ...environment,
    FAULTS: 'all',
  });
  const results = JSON.parse(await readFile(faultResults, 'utf8'));
  const text = `${await circumstances(start)}\n\n${faultTable(results)}`;
  process.stdout.write(`\n${text}\n`);
  if (vitestArgs.length > 0) return;
  const reasons = obstacles(results, start.tree, await treeState());
  if (reasons.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`docs/verification.md was not written: ${reasons.join('; ')}\n`);
    return;
  }
  const before = await readFile(page, 'utf8');
  await writeFile(page, before.replace(marked, `${BEGIN}\n\n${text}\n\n${END}`));
}

/**
 * Returns when, where and with which versions this ran, and the load of the machine, which affects
 * times.
 * @param {{ at: Date, load: number, tree: import('./tree.mjs').Tree }} begun
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
