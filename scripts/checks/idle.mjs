import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { pythonSdk } from '../setup/python.mjs';
import { rmcpClient } from '../setup/rmcp.mjs';
import { setUp } from '../setup/setup.mjs';
import { recordRun } from './record/long-runs.mjs';
import { idleResult } from './results.mjs';
import { vitest } from './vitest.mjs';

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
  await recordRun('check:idle', async () => {
    const file = 'wasm-tests/interop/listen-once/idle.test.ts';
    const env = { ...environment, IDLE_MINUTES: String(minutes) };
    const code = await vitest(['--project', 'interop', file], env);
    if (code !== 0) throw new Error('a stream had ended, or a client did not receive the change');
    const { streams, open, informed } = JSON.parse(await readFile(idleResult, 'utf8'));
    const of = `${open} of ${streams} streams`;
    return `after ${minutes} idle minutes ${of} were open, and ${informed} received the change`;
  });
}

function wantedMinutes() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
  const minutes = Number(values.minutes);
  if (minutes > 0 && minutes < MAX_MINUTES) return minutes;
  throw new Error(`--minutes is ${values.minutes}: it must be above 0 and below ${MAX_MINUTES}`);
}

/** In minutes: the longest timer of Node is 24 days. */
const MAX_MINUTES = 24 * 24 * 60;

await main(import.meta.url, checkIdle);
