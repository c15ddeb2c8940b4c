import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { pythonSdk } from '../setup/python.mjs';
import { rmcpClient } from '../setup/rmcp.mjs';
import { setUp } from '../setup/setup.mjs';

/**
 * Runs `npm start` and opens eight streams of official clients, which idle for twenty minutes, or
 * for `--minutes`; then checks that all are still open, and that each receives a change.
 */
async function checkIdle() {
  const minutes = wantedMinutes();
  await setUp();
  await build();
  await pythonSdk();
  await rmcpClient();
  process.stdout.write(`Eight streams of official clients idle for ${minutes} minutes.\n`);
  process.exitCode = await vitest(minutes);
}

function wantedMinutes() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
  const minutes = Number(values.minutes);
  if (minutes > 0 && minutes < MAX_MINUTES) return minutes;
  throw new Error(`--minutes is ${values.minutes}: it must be above 0 and below ${MAX_MINUTES}`);
}

/**
 * @param {number} minutes
 * @returns {Promise<number>}
 */
function vitest(minutes) {
  const env = { ...environment, IDLE_MINUTES: String(minutes) };
  const args = ['run', '--project', 'interop', 'wasm-tests/interop/listen-once/idle.test.ts'];
  const child = spawn('vitest', args, { cwd: root, env, stdio: 'inherit' });
  onStop(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** In minutes: the longest timer of Node is 24 days. */
const MAX_MINUTES = 24 * 24 * 60;

await main(import.meta.url, checkIdle);
