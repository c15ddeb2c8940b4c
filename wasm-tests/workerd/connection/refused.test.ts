import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged, updated, type WireStream } from '../../host/listen.ts';

const fixture = useFixture({ KEPT_APART: 'on' });
const TOOLS = { kind: 'tools_list_changed' };
const CUES = [updated('1', 'note://a'), updated('1', 'note://b'), listChanged('1', 'tools')];

test('if the runtime later refuses writes to other requests, no cue is lost, and new streams have a socket each', {
  timeout: 20_000,
}, async () => {
  const streams = [await open(), await open(), await open()];
  // No other stream receives what this one receives.
  const own = await open({ resourceSubscriptions: ['note://c', 'note://d'] });
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 1, sockets: 1 });
  await fixture().post(0, '/refuse?is=true');
  for (let round = 0; round < 3; round += 1) {
    // Events that are published together arrive together.
    await publish('note://c', 'note://d');
    for (const uri of ['note://c', 'note://d']) expect(await own.message()).toBe(updated('1', uri));
    await publish('note://a', 'note://b');
    await fixture().publish(1, TOOLS);
    for (const stream of streams) for (const cue of CUES) expect(await stream.message()).toBe(cue);
  }
  const late = await open();
  expect(await fixture().bus<BusStats>('stats')).toMatchObject({ attached: 2, sockets: 2 });
  await publish('note://a', 'note://b');
  await fixture().publish(1, TOOLS);
  for (const stream of [...streams, late])
    for (const cue of CUES) expect(await stream.message()).toBe(cue);
  expect(await fixture().log(0)).toEqual([
    { event: 'sockets', sockets: 'shared' },
    { event: 'sockets', sockets: 'each' },
  ]);
  expect(await fixture().stats(0)).toMatchObject({
    gaps: 0,
    open: 5,
    resyncs: 0,
    ended: { aborted: 0 },
  });
});

function open(filter: object = FILTER): Promise<WireStream> {
  return fixture().open(0, filter);
}

async function publish(...uris: string[]): Promise<void> {
  const events = uris.map((uri) => ({ kind: 'resource_updated', uri }));
  expect((await fixture().post(1, '/publish-all', JSON.stringify(events))).status).toBe(200);
}

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://b'] };
