import { describe, test } from 'vitest';
import { type LegacyCase, legacyCorpusFor, play } from '../../host/corpus/legacy.ts';
import { useFixture } from '../../host/fixture/fixture.ts';
import { rawSend } from '../../host/wire/raw-send.ts';

const fixture = useFixture();

describe.each(legacyCorpusFor('workerd'))('$file', ({ cases }) => {
  // vitest cuts long texts off in a name that `test.each` formats.
  for (const wanted of cases) test(wanted.name, () => playOnWorkerd(wanted));
});

async function playOnWorkerd(wanted: LegacyCase): Promise<void> {
  const { behind, options } = wanted;
  const url = new URL('/with', fixture().mcp(0));
  url.search = new URLSearchParams({ behind, options: JSON.stringify(options) }).toString();
  await play(wanted, { send: rawSend(url.href), publish: (event) => fixture().publish(1, event) });
}
