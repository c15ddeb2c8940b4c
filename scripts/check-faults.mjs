import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { environment, run } from './command.mjs';
import { resultsFile } from './fault-results.mjs';
import { main, onStop } from './main.mjs';
import { root } from './project.mjs';
import { setUp } from './setup.mjs';

/** Where the results of a whole run are told. */
const page = join(root, 'docs', 'reliability.md');

/** Injects every fault; where all scenarios were played, writes what became of them. Arguments go to vitest. */
async function checkFaults() {
  await setUp();
  await build();
  const some = process.argv.slice(2);
  const begun = { at: new Date(), load: loadavg()[0] ?? 0 };
  process.exitCode = await vitest(some);
  const results = JSON.parse(await readFile(resultsFile, 'utf8'));
  const text = `${await circumstances(begun)}\n\n${table(results)}`;
  process.stdout.write(`\n${text}\n`);
  if (some.length > 0) return;
  const before = await readFile(page, 'utf8');
  await writeFile(page, before.replace(told, `${BEGIN}\n\n${text}\n\n${END}`));
}

/**
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function vitest(args) {
  const env = { ...environment, FAULTS: 'all' };
  const child = spawn('vitest', ['run', '--project', 'faults', ...args], { cwd: root, env, stdio: 'inherit' });
  onStop(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/**
 * When, where and with what this ran; figures of time mean little on a machine with much else to do.
 * @param {{ at: Date, load: number }} begun
 */
async function circumstances({ at, load }) {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const commit = (await run('git', ['rev-parse', '--short', 'HEAD'])).trim();
  const versions = `workerd ${devDependencies.workerd}, Node ${process.versions.node}, ${process.platform}`;
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, a load of ${load.toFixed(1)} from elsewhere at the start`;
  return `\`npm run check:faults\` on ${at.toISOString().slice(0, 10)}, at ${commit}: ${versions}; all processes on one machine with ${machine}.`;
}

/**
 * @typedef {object} Told
 * @property {string} name
 * @property {string} promise
 * @property {number} streams
 * @property {number} open
 * @property {number} passed
 * @property {number} taken
 * @property {number} refused
 * @property {number} missing
 * @property {number} early
 * @property {number} foreign
 * @property {number} inversions
 * @property {{ median: number, p99: number, max: number }} [heal]
 * @property {boolean} [hibernates]
 * @property {Record<string, number>} left
 * @property {string} [note]
 * @property {string[]} violations
 */

/** @param {Told[]} results */
function table(results) {
  const head = [
    '| fault | promise | streams | open after | events | cues missing | early, foreign, out of order | back after, median / p99 / max | hibernates again | left over | |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
  ];
  return [...head, ...results.map((result) => `| ${cells(result).join(' | ')} |`)].join('\n');
}

/** @param {Told} result */
function cells({ name, promise, streams, open, passed, taken, refused, missing, early, foreign, inversions, ...more }) {
  const { heal, hibernates, left, note, violations } = more;
  const { descriptors = 0, ...leaked } = left;
  return [
    name,
    promise,
    passed > 0 ? `${streams} + ${passed}` : streams,
    open,
    refused > 0 ? `${taken}, ${refused} refused` : taken,
    missing,
    early + foreign + inversions,
    heal === undefined ? '' : [heal.median, heal.p99, heal.max].map(seconds).join(' / '),
    hibernates === undefined ? '' : hibernates ? 'yes' : 'NO',
    `${Object.values(leaked).reduce((sum, count) => sum + count, 0)}, ${descriptors} sockets`,
    [note ?? [], violations.length === 0 ? [] : `**violated: ${violations.join('; ')}**`].flat().join('; '),
  ];
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1_000).toFixed(2)} s`;
}

const BEGIN = '<!-- npm run check:faults writes from here -->';
const END = '<!-- to here -->';
const told = new RegExp(`${BEGIN}[^]*${END}`);

await main(import.meta.url, checkFaults);
