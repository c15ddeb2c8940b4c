import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { build } from '../build/build.mjs';
import { environment, run } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';
import { resultsFile } from './results.mjs';
import { faultTable, refusalsToWrite } from './table.mjs';

/** The page that shows the results of a whole run. */
const page = join(root, 'docs', 'reliability.md');

/**
 * Injects every fault. Writes the table where all scenarios were played, at one commit, in a tree
 * without changes, and on a machine that was quiet enough; says otherwise why not, and fails.
 * Arguments go to vitest, and then nothing is written.
 */
async function checkFaults() {
  const some = process.argv.slice(2);
  await setUp();
  await build();
  const begun = { at: new Date(), load: loadavg()[0] ?? 0, tree: await treeState() };
  process.exitCode = await vitest(some);
  const results = JSON.parse(await readFile(resultsFile, 'utf8'));
  const text = `${await circumstances(begun)}\n\n${faultTable(results)}`;
  process.stdout.write(`\n${text}\n`);
  if (some.length > 0) return;
  const reasons = refusalsToWrite(results, begun.tree, await treeState());
  if (reasons.length > 0) {
    process.exitCode = 1;
    process.stderr.write(`docs/reliability.md is left as it is: ${reasons.join('; ')}\n`);
    return;
  }
  const before = await readFile(page, 'utf8');
  await writeFile(page, before.replace(told, `${BEGIN}\n\n${text}\n\n${END}`));
}

/** @returns {Promise<import('./table.mjs').Tree>} */
async function treeState() {
  const commit = (await run('git', ['rev-parse', '--short', 'HEAD'])).trim();
  const changes = (await run('git', ['status', '--porcelain'])).trim();
  return { commit, isDirty: changes !== '' };
}

/**
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function vitest(args) {
  const env = { ...environment, FAULTS: 'all' };
  const child = spawn('vitest', ['run', '--project', 'faults', ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  onStop(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/**
 * When, where and with what this ran; figures of time mean little on a machine with much else to
 * do.
 * @param {{ at: Date, load: number, tree: import('./table.mjs').Tree }} begun
 */
async function circumstances({ at, load, tree }) {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const state = tree.isDirty ? 'with changes that are not committed' : 'a clean tree';
  const versions = `workerd ${devDependencies.workerd}, Node ${process.versions.node}, ${process.platform}`;
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, a load of ${load.toFixed(1)} from elsewhere at the start`;
  return `\`npm run check:faults\` on ${at.toISOString().slice(0, 10)}, at ${tree.commit}, ${state}:\n${versions};\nall processes on one machine with ${machine}.`;
}

const BEGIN = '<!-- npm run check:faults writes from here -->';
const END = '<!-- to here -->';
const told = new RegExp(`${BEGIN}[^]*${END}`);

await main(import.meta.url, checkFaults);
