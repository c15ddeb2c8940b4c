import type { BusStats } from 'mcp-listen/cloudflare';
import { describe, expect, test } from 'vitest';
import { type Fixture, useFixture } from '../../host/fixture/fixture.ts';
import { listChanged } from '../../host/listen.ts';

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

/** Opens streams of one isolate one after the other, and checks that all receive an event. */
async function publishTo(fixture: Fixture, count: number): Promise<void> {
  const streams = [];
  for (let place = 0; place < count; place += 1) streams.push(await fixture.open(0, FILTER));
  await fixture.publish(1, TOOLS);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
}
