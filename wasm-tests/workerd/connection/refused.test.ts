import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../../host/listen.ts';

const fixture = useFixture({ KEPT_APART: 'on' });
const TOOLS = { kind: 'tools_list_changed' };
const CUES = [updated('1', 'note://a'), updated('1', 'note://b'), listChanged('1', 'tools')];

test('a runtime that refuses writes after it took them loses no cue: each request writes its own, and later streams have a socket each', {
  timeout: 20_000,
}, async () => {
  const streams = [await opened(), await opened(), await opened()];
  // Nothing that this one hears is heard by another one, too.
  const own = await opened({ resourceSubscriptions: ['note://c', 'note://d'] });
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1, sockets: 1 });
  await fixture().post(0, '/refuse?is=true');
  for (let round = 0; round < 3; round += 1) {
    // What is published together is read together.
    await published('note://c', 'note://d');
    for (const uri of ['note://c', 'note://d']) expect(await own.message()).toBe(updated('1', uri));
    await published('note://a', 'note://b');
    await fixture().publish(1, TOOLS);
    for (const stream of streams) for (const cue of CUES) expect(await stream.message()).toBe(cue);
  }
  const late = await opened();
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 2, sockets: 2 });
  await published('note://a', 'note://b');
  await fixture().publish(1, TOOLS);
  for (const stream of [...streams, late])
    for (const cue of CUES) expect(await stream.message()).toBe(cue);
  const { ended, gaps, open, resyncs } = await fixture().stats(0);
  expect({ gaps, open, resyncs, aborted: ended.aborted }).toEqual({
    gaps: 0,
    open: 5,
    resyncs: 0,
    aborted: 0,
  });
});

async function opened(filter: object = WANTED): Promise<WireStream> {
  const stream = await fixture().subscribe(0, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}

async function published(...uris: string[]): Promise<void> {
  const events = uris.map((uri) => ({ kind: 'resource_updated', uri }));
  expect((await fixture().post(1, '/publish-all', JSON.stringify(events))).status).toBe(200);
}

const WANTED = { toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://b'] };
