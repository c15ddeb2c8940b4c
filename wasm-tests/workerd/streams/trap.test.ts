import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';

const alone = useFixture({ SOCKETS: 'each' });
const shared = useFixture();
const sharded = useFixture({ EDGES_PER_SHARD: '1' });
const TOOLS = { toolsListChanged: true };
const WAIT = { timeout: 15_000 };
const CHANGED = { kind: 'tools_list_changed' };

test.each([
  ['with one socket each', alone],
  ['on a shared connection', shared],
])(
  'streams %s end after a trap in their isolate; new ones open, and other isolates are unaffected',
  async (_, fixture) => {
    const open = (edge: number) => fixture().open(edge, TOOLS);
    const [one, other, elsewhere] = [await open(0), await open(0), await open(1)];
    await fixture().post(0, '/poison');
    // The next call into the core traps.
    await fixture().post(0, '/mcp', '{}');
    const next = await open(0);
    for (const stream of [one, other]) expect(await stream.event()).toBeUndefined();
    expect(await fixture().publish(0, CHANGED)).toBe(200);
    for (const stream of [next, elsewhere])
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await fixture().stats(0)).toMatchObject({ open: 1, ended: { aborted: 0, trapped: 2 } });
  },
);

test('streams stay open when the bus object traps and restarts from its disk', async () => {
  const fixture = alone;
  const streams = [await fixture().open(0, TOOLS), await fixture().open(1, TOOLS)];
  const before = await fixture().bus<number>('wakes');
  await fixture().post(1, '/bus/poison');
  await fixture().publish(1, CHANGED);
  await expect.poll(() => fixture().bus<number>('wakes')).toBe(before + 1);
  expect(await fixture().publish(1, CHANGED)).toBe(200);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('streams stay open when shards trap and restart from their disks', async () => {
  const streams: WireStream[] = [];
  for (let place = 0; place < 6; place += 1) streams.push(await sharded().open(place % 2, TOOLS));
  const shards = async () =>
    (await sharded().bus<BusStats>('stats')).shards.map(({ shard }) => shard);
  await expect.poll(async () => (await shards()).length).toBeGreaterThan(0);
  const [first = 0] = await shards();
  const before = await sharded().shard<number>(first, 'wakes');
  await sharded().post(1, `/bus/poison?shard=${first}`);
  // The objects share one core, so any of them may trap first.
  await sharded().publish(1, CHANGED);
  await expect.poll(() => sharded().shard<number>(first, 'wakes')).toBe(before + 1);
  await expect.poll(() => sharded().publish(1, CHANGED)).toBe(200);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('an object that fails to start from its disk three times deletes it, and cues every stream', async () => {
  const streams: WireStream[] = [];
  for (let place = 0; place < 4; place += 1) streams.push(await sharded().open(place % 2, TOOLS));
  for (let count = 0; count < 2; count += 1) {
    await sharded().publish(1, CHANGED);
    for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
  const before = await sharded().bus<number>('starts');
  await sharded().post(1, '/bus/garble');
  await sharded().post(1, '/bus/reset');
  const refused: string[] = [];
  const isPublished = async () => {
    const response = await sharded().post(1, '/publish', JSON.stringify(CHANGED));
    if (!response.ok) refused.push(((await response.json()) as { code: string }).code);
    return response.ok;
  };
  await expect.poll(isPublished, WAIT).toBe(true);
  // Three starts failed. An edge that attached again may have caused one of them.
  expect((await sharded().bus<number>('starts')) - before).toBe(4);
  expect(refused.length).toBeLessThanOrEqual(3);
  expect(new Set(refused)).toEqual(new Set(['bus-unavailable']));
  expect((await sharded().bus<BusStats>('stats')).position).toBe(1);
  // The bus cannot replay what was missed.
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  // Both isolates are attached again, each with one shared socket.
  await expect.poll(async () => (await sharded().bus<BusStats>('stats')).attached, WAIT).toBe(2);
  await sharded().publish(1, CHANGED);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});
