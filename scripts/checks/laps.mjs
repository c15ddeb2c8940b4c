import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { recordRun } from './record/long-runs.mjs';

/**
 * Runs `npm test` five times in a row, or `--times`, as CI does. With `--busy` a process spins on
 * each core meanwhile. Ends at the first lap that fails, or, on an idle machine, that takes longer
 * than the goal.
 */
async function checkLaps() {
  const { times, isBusy } = wanted();
  const spinning = isBusy ? Array.from({ length: availableParallelism() }, spin) : [];
  await recordRun(isBusy ? 'check:laps -- --busy' : 'check:laps', async () => {
    let [slowest, last] = [0, ''];
    for (let count = 1; count <= times; count += 1) {
      const { minutes, tally } = await lap();
      process.stdout.write(`\nlap ${count} of ${times}: ${tally}\n`);
      if (!isBusy && minutes > GOAL_MINUTES)
        throw new Error(`a lap took ${minutes.toFixed(1)} minutes; the goal is ${GOAL_MINUTES}`);
      [slowest, last] = [Math.max(slowest, minutes), tally];
    }
    const most = `${slowest.toFixed(1)} minutes`;
    return `${times} laps in a row passed, in at most ${most}; the last one: ${last}`;
  });
  for (const stop of spinning) stop();
}

/** Runs `npm test` once. Resolves with its last line. */
async function lap() {
  const started = performance.now();
  const child = spawn('npm', ['test'], {
    cwd: root,
    env: { ...environment, CI: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onStop(() => void child.kill('SIGTERM'));
  const closed = once(child, 'close');
  let tally = '';
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`);
    if (line !== '') tally = line;
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`npm test ended with ${code}: ${tally}`);
  return { tally, minutes: (performance.now() - started) / 60_000 };
}

/** Starts a process that spins, and returns what stops it. */
function spin() {
  const child = spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' });
  onStop(() => void child.kill('SIGKILL'));
  return () => child.kill('SIGKILL');
}

function wanted() {
  const options = /** @type {const} */ ({
    times: { type: 'string', default: '5' },
    busy: { type: 'boolean', default: false },
  });
  const { values } = parseArgs({ options });
  const times = Number(values.times);
  if (Number.isInteger(times) && times > 0) return { times, isBusy: values.busy };
  throw new Error(`--times is ${values.times}: it must be a number of laps, at least 1`);
}

const GOAL_MINUTES = 15;

await main(import.meta.url, checkLaps);
