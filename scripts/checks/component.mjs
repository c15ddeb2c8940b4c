import { buildComponent } from '../build/component.mjs';
import { environment } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { componentHost } from '../setup/component-host.mjs';
import { setUp } from '../setup/setup.mjs';
import { recordRun } from './record/long-runs.mjs';
import { vitest } from './vitest.mjs';

/** Plays the requests of the corpus on the component in a host of Rust, which it compiles. */
async function checkComponent() {
  await setUp();
  await buildComponent();
  await componentHost();
  await recordRun('check:component', async () => {
    const file = 'wasm-tests/interop/component/corpus.test.ts';
    const env = { ...environment, COMPONENT_HOST: 'rust' };
    const code = await vitest(['--project', 'interop', file], env);
    if (code !== 0) throw new Error('the component does not respond as the corpus says');
    return 'the component responded to the requests of the corpus in Rust (wasmtime) as it says';
  });
}

await main(import.meta.url, checkComponent);
