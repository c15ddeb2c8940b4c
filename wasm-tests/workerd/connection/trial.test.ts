import type { BusStats } from 'mcp-listen/cloudflare';
import { describe, expect, test } from 'vitest';
import { type Fixture, useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';

const FILTER = { toolsListChanged: true };
const TOOLS = { kind: 'tools_list_changed' };

describe('where a request can write to the streams of others', () => {
  const fixture = useFixture({ SOCKETS: 'auto' });

  test('the first two streams find that out, and the next share a socket', async () => {
    await heardBy(fixture(), 6);
    const { sockets } = await fixture().bus<BusStats>('stats');
    expect(sockets).toBe(1);
  });
});

describe('where it cannot', () => {
  const fixture = useFixture({ SOCKETS: 'auto', NO_CROSSING: '1' });

  test('every stream has a socket of its own', async () => {
    await heardBy(fixture(), 6);
    expect(await fixture().bus('stats')).toMatchObject({ sockets: 6, attached: 6 });
  });
});

/** So many streams of one isolate, opened one after the other, hear what is published. */
async function heardBy(fixture: Fixture, count: number): Promise<void> {
  const streams = [];
  for (let place = 0; place < count; place += 1) {
    const stream = await fixture.subscribe(0, FILTER);
    expect(await stream.message()).toBe(acknowledged('1', FILTER));
    streams.push(stream);
  }
  await fixture.publish(1, TOOLS);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
}
