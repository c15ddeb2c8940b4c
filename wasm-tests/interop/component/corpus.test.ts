import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { componentFile } from '../../../scripts/build/component.mjs';
import { hostProgram } from '../../../scripts/setup/component-host.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { corpusFor, expectResponse } from '../../host/corpus/corpus.ts';
import { type ComponentHost, playOf, responseOf } from './host.ts';
import { nodeHost } from './node-host.ts';
import { ProcessHost } from './process-host.ts';

const HOSTS: Record<string, () => Promise<ComponentHost>> = {
  'Node by jco': nodeHost,
  'Python by wasmtime': async () =>
    new ProcessHost(python, [join(import.meta.dirname, 'component_host.py')]),
};

// wasmtime takes minutes to compile in Rust, so this host runs in npm run check:component alone.
const RUST: typeof HOSTS = {
  'Rust by wasmtime': async () => new ProcessHost(hostProgram, [componentFile]),
};
const hosts = process.env['COMPONENT_HOST'] === 'rust' ? RUST : HOSTS;

describe.each(Object.entries(hosts))('the component in %s', (_, start) => {
  let host: ComponentHost;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host?.close());

  describe.each(corpusFor('node'))('$file', ({ cases }) => {
    const ours = cases.filter(
      ({ options }) => !('legacy' in options) || options.legacy !== 'sessions',
    );
    test.each(ours)('$name', async (wanted) =>
      expectResponse(wanted, responseOf(wanted, await host.play(playOf(wanted)))),
    );
  });
});
