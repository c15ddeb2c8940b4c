import type { BusStats } from 'mcp-listen/cloudflare';
import { describe, expect, test } from 'vitest';
import { type Fixture, useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS, listChanged, listenBody } from '../../host/listen.ts';
import { pause } from '../../host/pause.ts';
import { Drip } from '../../host/wire/drip.ts';

const FILTER = { toolsListChanged: true };
const TOOLS = { kind: 'tools_list_changed' };

describe('if a request can write to the streams of other requests', () => {
  const fixture = useFixture({ SOCKETS: 'auto' });

  test('the first two streams run a write probe, which is logged once, and all further streams share a socket', async () => {
    await publishTo(fixture(), 6);
    const { sockets } = await fixture().bus<BusStats>('stats');
    expect(sockets).toBe(1);
    expect(await fixture().log(0)).toEqual([{ event: 'sockets', sockets: 'shared' }]);
  });
});

describe('if a request cannot write to the streams of other requests', () => {
  const fixture = useFixture({ SOCKETS: 'auto', NO_CROSSING: '1' });

  test('the write probe is logged once, and each stream has its own socket', async () => {
    await publishTo(fixture(), 6);
    expect(await fixture().bus('stats')).toMatchObject({ sockets: 6, attached: 6 });
    expect(await fixture().log(0)).toEqual([{ event: 'sockets', sockets: 'each' }]);
  });
});

describe('if the request that runs the write probe is dropped', () => {
  const fixture = useFixture({ SOCKETS: 'auto', KEPT_APART: 'on' });

  test('a later stream runs another one', async () => {
    await fixture().open(0, FILTER, { headers: { 'x-request': 'owner' } });
    await fixture().post(0, '/stall?request=owner');
    const body = listenBody(FILTER);
    const headers = { ...LISTEN_HEADERS, 'content-length': `${body.length}` };
    const probing = await Drip.begin(fixture().mcp(0), headers, body);
    await pause(300);
    probing.reset();
    await pause(300);
    await fixture().post(0, '/stall?request=');
    await pause(1_500);
    expect(await fixture().log(0)).toEqual([]);
    await fixture().open(0, FILTER);
    expect(await fixture().log(0)).toEqual([{ event: 'sockets', sockets: 'shared' }]);
    expect(await fixture().bus('stats')).toMatchObject({ sockets: 1, attached: 1 });
  });
});

/** Opens streams of one isolate one after the other, and checks that all receive an event. */
async function publishTo(fixture: Fixture, count: number): Promise<void> {
  const streams = [];
  for (let place = 0; place < count; place += 1) streams.push(await fixture.open(0, FILTER));
  await fixture.publish(1, TOOLS);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
}
