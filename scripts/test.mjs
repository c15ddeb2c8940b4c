import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from './build.mjs';
import { main, onStop } from './main.mjs';
import { root } from './project.mjs';
import { setUp } from './setup.mjs';
import { laneTally, sum, tallyFile, UNAVAILABLE } from './tally.mjs';

/** @typedef {{ lane: string, seconds: number, tally: import('./tally.mjs').Tally }} Result */

const lanes = [
  ...['lint', 'audit', 'rust', 'fuzz', 'wasm-node', 'wasm-chromium', 'node', 'buses'],
  ...['workerd', 'faults', 'console', 'interop', 'conformance', 'bench', 'package'],
];
const unprepared = { lane: 'build', seconds: 0, tally: { passed: 0, failed: 1, skipped: 0, reason: 'see above' } };

/** Runs the lanes named on the command line, all without one, and closes with what they counted. */
async function test() {
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : lanes;
  const unknown = wanted.filter((lane) => !lanes.includes(lane));
  if (unknown.length > 0) throw new Error(`there is no lane ${unknown.join(', ')}; the lanes are ${lanes.join(', ')}`);
  const results = (await prepared()) ? await inTurn(wanted) : [unprepared];
  const { passed, failed, skipped, failures = [] } = sum(results.map(({ tally }) => tally));
  process.stdout.write(`\n${failures.map((failure) => `FAILED ${failure}\n\n`).join('')}`);
  process.stdout.write(`${results.map(line).join('\n')}\n\n`);
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}

/** Sets up and builds once for all lanes. */
async function prepared() {
  try {
    await setUp();
    await build();
    return true;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return false;
  }
}

/** @param {string[]} wanted */
async function inTurn(wanted) {
  const results = [];
  for (const lane of wanted) results.push(await laneResult(lane));
  return results;
}

/**
 * @param {string} lane
 * @returns {Promise<Result>}
 */
async function laneResult(lane) {
  process.stdout.write(`\n=== ${lane}\n`);
  const started = performance.now();
  await rm(tallyFile(lane), { force: true });
  const status = await laneStatus(lane);
  return { lane, seconds: since(started), tally: judged(status, await laneTally(lane)) };
}

/**
 * The lane leads a process group, so that a signal ends the shell and all it started.
 * @param {string} lane
 * @returns {Promise<number>}
 */
function laneStatus(lane) {
  const env = { ...process.env, PREPARED: 'true' };
  const child = spawn(join(root, '.ci', lane), {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  onStop(() => void (child.exitCode === null && child.pid !== undefined && process.kill(-child.pid)));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/**
 * What a lane counted, and whether it may end as it did: no lane passes without a test that ran.
 * @param {number} status
 * @param {import('./tally.mjs').Tally} tally
 * @returns {import('./tally.mjs').Tally}
 */
function judged(status, tally) {
  if (status === UNAVAILABLE) return process.env['CI'] === 'true' ? { ...tally, failed: 1, skipped: 0 } : tally;
  if (status !== 0 && tally.failed === 0) return { ...tally, failed: 1, reason: `ended with status ${status}` };
  if (tally.passed + tally.failed === 0) return { ...tally, failed: 1, reason: 'not one test ran' };
  return tally;
}

/** @param {Result} result */
function line({ lane, seconds, tally: { passed, failed, skipped, reason } }) {
  const verdict = failed > 0 ? 'FAILED' : passed > 0 ? 'passed' : 'skipped';
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped`;
  return `${lane.padEnd(14)} ${verdict.padEnd(8)} ${counts}, ${seconds.toFixed(1)} s${reason ? `: ${reason}` : ''}`;
}

/** @param {number} started */
function since(started) {
  return (performance.now() - started) / 1000;
}

await main(import.meta.url, test);
