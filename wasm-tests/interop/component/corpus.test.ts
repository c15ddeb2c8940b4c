import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { python } from '../../../scripts/setup/python.mjs';
import { corpusFor, expectAnswer } from '../../host/corpus/corpus.ts';
import { answerOf, type ComponentHost, playOf } from './host.ts';
import { nodeHost } from './node-host.ts';
import { ProcessHost } from './process-host.ts';

const HOSTS: Record<string, () => Promise<ComponentHost>> = {
  'Node by jco': nodeHost,
  'Python by wasmtime': async () =>
    new ProcessHost(python, [join(import.meta.dirname, 'component_host.py')]),
};

describe.each(Object.entries(HOSTS))('the component in %s', (_, start) => {
  const host = start();
  afterAll(async () => (await host).close());

  describe.each(corpusFor('node'))('$file', ({ cases }) => {
    const ours = cases.filter(
      ({ options }) => !('legacy' in options) || options.legacy !== 'sessions',
    );
    test.each(ours)('$name', async (wanted) =>
      expectAnswer(wanted, answerOf(wanted, await (await host).play(playOf(wanted)))),
    );
  });
});
