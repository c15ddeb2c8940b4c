import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { setUp } from '../setup/setup.mjs';
import { recordRun } from './record/long-runs.mjs';
import { vitest } from './vitest.mjs';

/**
 * Opens 500 streams right after a change, or `OPENINGS`, with the seed `SEED`, or a new one; and
 * as many of topics that are followed already.
 */
async function checkOpenings() {
  await setUp();
  await build();
  const { OPENINGS = '500', SEED = String(Math.floor(Math.random() * 2 ** 31)) } = process.env;
  await recordRun('check:openings', async () => {
    const file = 'wasm-tests/workerd/streams/openings.test.ts';
    const code = await vitest(['--project', 'workerd', file], { ...environment, OPENINGS, SEED });
    if (code !== 0) throw new Error(`a stream received what it must not (seed ${SEED})`);
    return `${OPENINGS} openings of each kind with the seed ${SEED} kept the promise`;
  });
}

await main(import.meta.url, checkOpenings);
