import type { Snapshot } from 'mcp-listen';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import type { WireStream } from '../../host/listen.ts';
import { SECRET } from '../../host/signing.ts';

const fixture = useFixture({ EDGES_PER_SHARD: '3' }, 4);

test('a question that is asked while connections move to a shard reaches their isolates', async () => {
  for (const edge of [0, 1, 2]) await open(edge);
  expect(await shards()).toBe(0);
  // The bus object has no room for a fourth connection: it opens a shard, and closes the others.
  await open(3);
  const [listeners, { isolates, objects }] = await Promise.all([listenersOf('ann'), snapshot(3)]);
  expect(listeners).toBe(4);
  expect(isolates).toHaveLength(4);
  expect(objects[0]).toMatchObject({ shard: 0, sockets: {} });
});

test('a question reaches isolates that reconnect late, since their process was suspended', async () => {
  await expect.poll(shards).toBe(0);
  for (const edge of [0, 1, 2, 3]) await open(edge);
  const before = await fixture().bus<number>('asked');
  const listeners = listenersOf('ann');
  await expect.poll(() => fixture().bus<number>('asked')).toBeGreaterThan(before);
  // Longer than the bus waits for connections that move.
  await fixture().suspend(2_700);
  expect(await listeners).toBe(4);
});

test('a question that is asked while a connection moves back reaches its isolate', async () => {
  await expect.poll(shards).toBe(0);
  const streams = [await open(0), await open(1), await open(2), await open(3)];
  expect(await listenersOf('ann')).toBe(4);
  for (const stream of streams.slice(1)) stream.drop();
  const counts: number[] = [];
  do counts.push(await listenersOf('ann'));
  while ((await shards()) > 0);
  counts.push(await listenersOf('ann'));
  expect([Math.min(...counts), counts.at(-1)]).toEqual([1, 1]);
});

function open(edge: number): Promise<WireStream> {
  return fixture().open(edge, { toolsListChanged: true }, { headers: { 'x-user': 'ann' } });
}

async function listenersOf(principal: string): Promise<number> {
  const url = fixture().urlOf(3, `/listeners?principal=${principal}`);
  return (await (await fetch(url)).json()) as number;
}

async function shards(): Promise<number> {
  return (await snapshot(3)).objects.length - 1;
}

async function snapshot(edge: number): Promise<Snapshot> {
  const headers = { authorization: `Bearer ${SECRET}` };
  const url = fixture().urlOf(edge, '/console/stats');
  return (await (await fetch(url, { headers })).json()) as Snapshot;
}
