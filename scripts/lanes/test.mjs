import { availableParallelism } from 'node:os';
import { setUpAndBuild } from '../build/build.mjs';
import { main } from '../process/main.mjs';
import { laneResult } from './lane.mjs';
import { lanes, scheduled } from './lanes.mjs';
import { sum } from './tally.mjs';

/** @typedef {import('./lane.mjs').Result} Result */

const buildFailure = {
  lane: 'build',
  seconds: 0,
  tally: { passed: 0, failed: 1, skipped: 0, reason: 'see above' },
};

/**
 * Runs the lanes named on the command line, or all of them, and prints the sum of their results.
 */
async function test() {
  const started = performance.now();
  const wanted = wantedLanes(process.argv.slice(2));
  const results = (await prepared()) ? await sideBySide(wanted) : [buildFailure];
  const { passed, failed, skipped, failures = [] } = sum(results.map(({ tally }) => tally));
  process.stdout.write(`\n${failures.map((failure) => `FAILED ${failure}\n\n`).join('')}`);
  process.stdout.write(`${results.map(line).join('\n')}\n\n`);
  process.stdout.write(
    `${passed} passed, ${failed} failed, ${skipped} skipped in ${inMinutes(started)}\n`,
  );
  process.exitCode = failed > 0 ? 1 : 0;
}

/** @param {string[]} names */
function wantedLanes(names) {
  const unknown = names.filter((name) => !lanes.some((lane) => lane.name === name));
  const known = lanes.map(({ name }) => name).join(', ');
  if (unknown.length > 0)
    throw new Error(`unknown lane ${unknown.join(', ')}; the lanes are ${known}`);
  return names.length === 0 ? lanes : lanes.filter(({ name }) => names.includes(name));
}

/** Sets up and builds once for all lanes. */
async function prepared() {
  try {
    await setUpAndBuild();
    return true;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return false;
  }
}

/**
 * Runs the lanes in parallel, and prints which ones are running whenever that changes.
 * @param {import('./lanes.mjs').Lane[]} wanted
 */
async function sideBySide(wanted) {
  const slots = slotsOf(process.env['LANES']);
  const isPrefixed = slots > 1 && wanted.length > 1;
  /** @type {Set<string>} */
  const running = new Set();
  const results = await scheduled(wanted, slots, async ({ name }) => {
    running.add(name);
    process.stdout.write(`\n=== ${name} begins; running: ${[...running].join(', ')}\n`);
    const result = await laneResult(name, { isPrefixed });
    running.delete(name);
    process.stdout.write(`\n=== ${line(result)}\n`);
    return result;
  });
  return results;
}

/**
 * Returns how many lanes may run at the same time: by default as many as there are cores, and at
 * least two. Lanes run several files at the same time themselves.
 * @param {string | undefined} wanted
 */
function slotsOf(wanted) {
  if (wanted === undefined) return Math.max(2, availableParallelism());
  if (/^[1-9]\d*$/.test(wanted)) return Number(wanted);
  throw new Error(
    `LANES is ${JSON.stringify(wanted)}: ` +
      'it must be the number of lanes that run at the same time, at least 1',
  );
}

/** @param {Result} result */
export function line({ lane, seconds, tally: { passed, failed, skipped, reason, repeated } }) {
  const verdict = failed > 0 ? 'FAILED' : passed > 0 ? 'passed' : 'skipped';
  const again = repeated === undefined ? '' : `, repeated: ${repeated}`;
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped${again}`;
  const outcome = `${lane.padEnd(14)} ${verdict.padEnd(8)} ${counts}, ${seconds.toFixed(1)} s`;
  return reason ? `${outcome}: ${reason}` : outcome;
}

/** @param {number} started */
function inMinutes(started) {
  const seconds = Math.round((performance.now() - started) / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

await main(import.meta.url, test);
