import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { checkedTally } from './checked-tally.mjs';
import { laneTally, tallyFile } from './tally.mjs';

/** @typedef {{ lane: string, seconds: number, tally: import('./tally.mjs').Tally }} Result */

/**
 * Runs a lane to its end and returns its result.
 * @param {string} lane
 * @param {{ isPrefixed: boolean }} options whether each line of output begins with the name of the
 *   lane
 * @returns {Promise<Result>}
 */
export async function laneResult(lane, { isPrefixed }) {
  const started = performance.now();
  await rm(tallyFile(lane), { force: true });
  const status = await laneStatus(lane, isPrefixed);
  const seconds = (performance.now() - started) / 1000;
  return { lane, seconds, tally: checkedTally(lane, status, await laneTally(lane)) };
}

/**
 * Runs the lane as the leader of a process group, and ends the group with the lane: a signal then
 * also ends the processes that the shell started, and none of them runs beside later lanes.
 * @param {string} lane
 * @param {boolean} isPrefixed
 * @returns {Promise<number>}
 */
async function laneStatus(lane, isPrefixed) {
  const output = isPrefixed ? 'pipe' : 'inherit';
  const child = spawn(join(root, '.ci', lane), {
    cwd: root,
    env: { ...process.env, PREPARED: 'true' },
    stdio: ['ignore', output, output],
    detached: true,
  });
  // The id of an ended group may be reused by another one.
  let hasEnded = false;
  const end = () => {
    if (!hasEnded) endGroup(child.pid);
    hasEnded = true;
  };
  onStop(async () => end());
  const copied = Promise.all([
    prefixed(lane, child.stdout, process.stdout),
    prefixed(lane, child.stderr, process.stderr),
  ]);
  const [code] = await once(child, 'exit');
  end();
  await copied;
  return code ?? 1;
}

/** @param {number | undefined} leader */
function endGroup(leader) {
  if (leader === undefined) return;
  try {
    process.kill(-leader);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/**
 * Copies output line by line, so that lines of two lanes do not mix.
 * @param {string} lane
 * @param {import('node:stream').Readable | null} from
 * @param {NodeJS.WritableStream} to
 */
async function prefixed(lane, from, to) {
  if (from === null) return;
  for await (const line of createInterface(from)) to.write(`${lane.padEnd(13)} | ${line}\n`);
}
