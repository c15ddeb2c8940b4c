import { readFile } from 'node:fs/promises';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { chromiumPath } from '../setup/chromium.mjs';
import { setUp } from '../setup/setup.mjs';
import { recordRun } from './record/long-runs.mjs';
import { operateResult } from './results.mjs';
import { vitest } from './vitest.mjs';

/**
 * Watches a bus with three shards and four isolates in Chromium, while 1,000 streams receive 50
 * events a second for a minute, or `OPERATE_STREAMS` for `OPERATE_SECONDS`.
 */
async function benchOperate() {
  await setUp();
  await build();
  const CHROMIUM = await chromiumPath();
  const { OPERATE_STREAMS = '1000', OPERATE_SECONDS = '60' } = process.env;
  await recordRun('bench:operate', async () => {
    const file = 'wasm-tests/console/operate/load.test.ts';
    const env = { ...environment, CHROMIUM, OPERATE_STREAMS, OPERATE_SECONDS };
    const code = await vitest(['--project', 'console', file], env);
    if (code !== 0) throw new Error('the page did not count every event, or its heap grew');
    const result = JSON.parse(await readFile(operateResult, 'utf8'));
    const { collapsed, events, growth, received, streams } = result;
    return (
      `the page counted all ${events} events at ${streams} streams in ${OPERATE_SECONDS} s, ` +
      `and its subscription received ${received}; ${collapsed} cues collapsed at all streams; ` +
      `its heap grew by ${growth} KB`
    );
  });
}

await main(import.meta.url, benchOperate);
