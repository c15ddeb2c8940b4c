import { createListenHandler } from 'mcp-listen';
import { describe, test } from 'vitest';
import { type LegacyCase, legacyCorpusFor, play } from '../../host/corpus/legacy.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { behind } from '../../host/servers/behind.ts';
import { sendTo } from './serving.ts';

describe.each(legacyCorpusFor('node'))('$file', ({ cases }) => {
  // vitest truncates long texts in the titles of `test.each`.
  for (const wanted of cases) test(wanted.name, () => playHere(wanted));
});

async function playHere(wanted: LegacyCase): Promise<void> {
  const server = createListenHandler(behind(wanted.behind), {
    server: declaring(CAPABILITIES),
    legacy: 'sessions',
    principal: (request) => request.headers.get('x-user') ?? undefined,
    ...wanted.options,
  });
  await play(wanted, { send: sendTo(server), publish: (event) => server.bus.publish(event) });
}
