import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, type WireStream } from '../../host/listen.ts';

const alone = useFixture({ SOCKETS: 'each' });
const shared = useFixture();
const sharded = useFixture({ EDGES_PER_SHARD: '1' });
const TOOLS = { toolsListChanged: true };
const WAIT = { timeout: 15_000 };
const CHANGED = { kind: 'tools_list_changed' };

test.each([
  ['with a socket each', alone],
  ['on a shared line', shared],
])(
  'streams %s end after a trap in their edge, those that open then hear on, and the other edge notices nothing',
  async (_, fixture) => {
    const opened = (edge: number) => acknowledgedStream(fixture, edge);
    const [one, other, elsewhere] = [await opened(0), await opened(0), await opened(1)];
    await fixture().post(0, '/poison');
    // Whichever call comes first is the one that traps.
    await fixture().post(0, '/mcp', '{}');
    const next = await opened(0);
    for (const stream of [one, other]) expect(await stream.event()).toBeUndefined();
    expect(await fixture().publish(0, CHANGED)).toBe(200);
    for (const stream of [next, elsewhere])
      expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await fixture().stats(0)).toMatchObject({ open: 1, ended: { aborted: 0, trapped: 2 } });
  },
);

test('a trap in the bus object restarts it from its disk: streams stay, and hear what is published then', async () => {
  const fixture = alone;
  const streams = [await acknowledgedStream(fixture, 0), await acknowledgedStream(fixture, 1)];
  const before = await fixture().bus<number>('wakes');
  await fixture().post(1, '/bus/poison');
  await fixture().publish(1, CHANGED);
  await expect.poll(() => fixture().bus<number>('wakes')).toBe(before + 1);
  expect(await fixture().publish(1, CHANGED)).toBe(200);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('a trap behind shards restarts them from their disks: streams stay, and hear what is published then', async () => {
  const streams: WireStream[] = [];
  for (let place = 0; place < 6; place += 1)
    streams.push(await acknowledgedStream(sharded, place % 2));
  const shards = async () =>
    (await sharded().bus<BusStats>('stats')).shards.map(({ shard }) => shard);
  await expect.poll(async () => (await shards()).length).toBeGreaterThan(0);
  const [first = 0] = await shards();
  const before = await sharded().shard<number>(first, 'wakes');
  await sharded().post(1, `/bus/poison?shard=${first}`);
  // Whichever object calls it first: they have one core.
  await sharded().publish(1, CHANGED);
  await expect.poll(() => sharded().shard<number>(first, 'wakes')).toBe(before + 1);
  await expect.poll(() => sharded().publish(1, CHANGED)).toBe(200);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('an object that its disk keeps from starting three times begins anew, and every stream is told', async () => {
  const streams: WireStream[] = [];
  for (let place = 0; place < 4; place += 1)
    streams.push(await acknowledgedStream(sharded, place % 2));
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
  // Three starts failed. An edge that comes back may have met one of them.
  expect((await sharded().bus<number>('starts')) - before).toBe(4);
  expect(refused.length).toBeLessThanOrEqual(3);
  expect(new Set(refused)).toEqual(new Set(['bus-unavailable']));
  expect((await sharded().bus<BusStats>('stats')).position).toBe(1);
  // Nobody knows what was missed.
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  // Both isolates are back, each with the one socket that its streams share.
  await expect.poll(async () => (await sharded().bus<BusStats>('stats')).attached, WAIT).toBe(2);
  await sharded().publish(1, CHANGED);
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

async function acknowledgedStream(fixture: typeof alone, edge: number): Promise<WireStream> {
  const stream = await fixture().subscribe(edge, TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  return stream;
}
