import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { judged } from './judged.mjs';
import { laneTally, tallyFile } from './tally.mjs';

/** @typedef {{ lane: string, seconds: number, tally: import('./tally.mjs').Tally }} Result */

/**
 * Runs a lane to its end and returns what it counted.
 * @param {string} lane
 * @param {{ isPrefixed: boolean }} options whether each line of output begins with the name of the
 * lane
 * @returns {Promise<Result>}
 */
export async function laneResult(lane, { isPrefixed }) {
  const started = performance.now();
  await rm(tallyFile(lane), { force: true });
  const status = await laneStatus(lane, isPrefixed);
  const seconds = (performance.now() - started) / 1000;
  return { lane, seconds, tally: judged(lane, status, await laneTally(lane)) };
}

/**
 * The lane leads a process group, so that a signal ends the shell and all it started; so does its
 * end, or what it left behind would run beside the lanes after it.
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
  // The number of a group that is gone may be given to a stranger.
  let isOver = false;
  const end = () => {
    if (!isOver) endGroup(child.pid);
    isOver = true;
  };
  onStop(async () => end());
  const told = Promise.all([
    prefixed(lane, child.stdout, process.stdout),
    prefixed(lane, child.stderr, process.stderr),
  ]);
  const [code] = await once(child, 'exit');
  end();
  await told;
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
 * Passes whole lines on, so that those of two lanes do not mix.
 * @param {string} lane
 * @param {import('node:stream').Readable | null} from
 * @param {NodeJS.WritableStream} to
 */
async function prefixed(lane, from, to) {
  if (from === null) return;
  for await (const line of createInterface(from)) to.write(`${lane.padEnd(13)} | ${line}\n`);
}
