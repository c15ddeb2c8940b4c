import { setTimeout } from 'node:timers/promises';
import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, updated } from '../../host/listen.ts';

const fixture = useFixture({ EDGES_PER_SHARD: '1' }, 2);

test('a stream that opens while the bus moves its connection to a shard waits for the shard', async () => {
  const first = await Promise.all([subscribe(0, 'note://a'), subscribe(0, 'note://a')]);
  for (const stream of first)
    expect(await stream.message()).toBe(acknowledged('1', filterOf('note://a')));
  // The connection of the other isolate makes the bus open shards before it has the third stream.
  await fixture().post(1, '/bus/withhold?is=true');
  const opening = fixture().subscribeWith(
    0,
    { timeouts: { attachMs: 60_000 } },
    filterOf('note://b'),
  );
  await setTimeout(200);
  const other = await subscribe(1, 'note://a');
  await fixture().post(1, '/bus/withhold?is=false');
  const late = await opening;
  expect(late.response.status).toBe(200);
  expect(await late.message()).toBe(acknowledged('1', filterOf('note://b')));
  const { shards, sockets } = await fixture().bus<BusStats>('stats');
  expect({ shards: shards.length, sockets }).toEqual({ shards: 2, sockets: 0 });
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  for (const stream of first) expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await late.message()).toBe(updated('1', 'note://b'));
  expect(await other.message()).toBe(acknowledged('1', filterOf('note://a')));
});

function subscribe(edge: number, uri: string) {
  return fixture().subscribe(edge, filterOf(uri));
}

function filterOf(uri: string) {
  return { resourceSubscriptions: [uri] };
}
