import type { ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { SOCKETS } from '../../host/fixture/start.ts';
import { listChanged, updated, type WireStream } from '../../host/listen.ts';

const EDGES = 4;
/** Sockets of a shard: one for each stream, or one for each isolate and continent. */
const PER_SHARD = SOCKETS === 'each' ? 4 : 3;
const STREAMS = 32;
const CONTINENTS = 2;
/** The sockets of all streams. */
const ALL_SOCKETS = SOCKETS === 'each' ? STREAMS : EDGES * CONTINENTS;
const fixture = useFixture({ EDGES_PER_SHARD: `${PER_SHARD}` }, EDGES);
const TOOLS = { kind: 'tools_list_changed' };

test('a publish calls only the shards whose streams follow its topic', async () => {
  const streams = await open(STREAMS);
  const bus = await fixture().bus<BusStats>('stats');
  expect(bus.shards.length).toBeGreaterThanOrEqual(ALL_SOCKETS / PER_SHARD);
  expect(bus.sockets).toBe(0);
  expect(new Set(bus.shards.map(({ continent }) => continent))).toEqual(new Set(['EU', 'OC']));
  await fixture().publish(0, TOOLS);
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await statsWithShards()).toMatchObject({ attached: ALL_SOCKETS });
  const before = await batches(bus.shards);
  for (const { stream, uri } of streams) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
    expect(await stream.message()).toBe(updated('1', uri));
  }
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://unknown' });
  await fixture().publish(3, TOOLS);
  // No stream has received anything else in between.
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const calls = sum(await batches(bus.shards)) - sum(before);
  expect(calls).toBe(streams.length + (await holding(bus.shards)));
});

// Before the tests that reset objects: the timers of a reset object count as armed.
test('root and shards hibernate, and wake to deliver', async () => {
  const streams = await open(2 * PER_SHARD);
  await fixture().publish(1, TOOLS);
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const [shard = 0] = await shards();
  const before = await healed();
  const wakes = [
    await fixture().bus<number>('wakes'),
    await fixture().shard<number>(shard, 'wakes'),
  ];
  for (const each of await shards()) await fixture().hibernate(each);
  await fixture().hibernate();
  for (let round = 0; round < 2; round += 1) {
    for (const { stream, uri } of streams) {
      await fixture().publish(2, { kind: 'resource_updated', uri });
      expect(await stream.message()).toBe(updated('1', uri));
    }
  }
  const after = [
    await fixture().bus<number>('wakes'),
    await fixture().shard<number>(shard, 'wakes'),
  ];
  expect(after).toEqual(wakes.map((count) => count + 1));
  await untilWhole();
  expect(await healed()).toBe(before);
});

test('the streams of a reset shard attach again, and receive what was published meanwhile', async () => {
  const streams = await open(3 * PER_SHARD);
  for (let round = 0; round < 2; round += 1) {
    for (const shard of await shards()) {
      await fixture().post(0, `/bus/reset?shard=${shard}`);
      await fixture().publish(round, TOOLS);
      for (const { stream } of streams)
        expect(await stream.message()).toBe(listChanged('1', 'tools'));
    }
  }
  await untilWhole();
});

test('a root that is reset before a shard has taken an event sends it again', async () => {
  const streams = await open(2 * PER_SHARD);
  const { length } = await shards();
  // The root would repeat the calls soon. After a reset its alarm has to.
  await fixture().post(0, `/bus/refuse?batches=${length}`);
  await fixture().publish(1, TOOLS);
  await fixture().post(0, '/bus/reset');
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  for (const { stream, uri } of streams) {
    await fixture().publish(2, { kind: 'resource_updated', uri });
    expect(await stream.message()).toBe(updated('1', uri));
  }
});

test('shards close when few streams are left, which continue at the root', async () => {
  const streams = await open(3 * PER_SHARD);
  const former = await shards();
  const [last, ...others] = streams;
  for (const { stream } of others) stream.drop();
  await fixture().untilAttached(1);
  await untilWhole();
  if (last === undefined) throw new Error('no stream');
  await fixture().publish(1, TOOLS);
  expect(await last.stream.message()).toBe(listChanged('1', 'tools'));
  // New streams go to the root too, from isolates that know the previous shards, even if a shard
  // does not remember that it was closed.
  for (const shard of former.slice(1)) await fixture().post(0, `/bus/reset?shard=${shard}`);
  const next = await open(PER_SHARD - 1, 1);
  await fixture().publish(1, TOOLS);
  for (const { stream } of next) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await fixture().bus('stats')).toMatchObject({
    attached: PER_SHARD,
    sockets: PER_SHARD,
    shards: [],
  });
  // One more stream opens shards again.
  await open(1, PER_SHARD);
  expect((await shards()).length).toBe(2);
});

test('the root redirects an edge to a shard, and a full shard sends it back', async () => {
  await open(2 * PER_SHARD);
  expect(await fixture().upgrade(0)).toBe(421);
  const [shard = 0] = await shards();
  const query = `?shard=${shard}`;
  await expect
    .poll(async () => (await fixture().shard<BusStats>(shard, 'stats')).sockets)
    .toBe(PER_SHARD);
  expect(await fixture().upgrade(0, query)).toBe(410);
  expect(await fixture().upgrade(0, query, 'raw-socket')).toBe(403);
  expect((await fixture().post(0, `/bus/socket${query}`)).status).toBe(426);
});

interface Opened {
  stream: WireStream;
  /** A URI that no other stream follows. */
  uri: string;
}

let opening = 0;

/**
 * Opens streams at the isolates in turn, beginning with the turn `first`, for clients on two
 * continents. Resolves once all are attached.
 */
async function open(count: number, first = 0): Promise<Opened[]> {
  const streams = [];
  for (let place = first; place < first + count; place += 1) {
    opening += 1;
    const uri = `note://${opening}`;
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const headers = { 'x-continent': place % 8 < 4 ? 'EU' : 'OC' };
    streams.push({ stream: await fixture().open(place % EDGES, filter, { headers }), uri });
  }
  await untilWhole();
  return streams;
}

/** The number of times that a stream attached again. */
async function healed(): Promise<number> {
  return sum((await stats()).map(({ healed }) => healed));
}

function stats(): Promise<ListenStats[]> {
  return Promise.all(Array.from({ length: EDGES }, (_, edge) => fixture().stats(edge)));
}

/** Resolves once no stream has lost its bus, and checks that the bus replayed everything. */
async function untilWhole(): Promise<void> {
  const away = async () => sum((await stats()).map(({ away }) => away));
  await expect.poll(away).toBe(0);
  expect(sum((await stats()).map(({ resyncs }) => resyncs))).toBe(0);
}

/** The numbers of the open shards. */
async function shards(): Promise<number[]> {
  const { shards } = await fixture().bus<BusStats>('stats');
  expect(shards.length).toBeGreaterThanOrEqual(2);
  return shards.map(({ shard }) => shard);
}

/** The counts of the bus once every shard has reported its edges. */
async function statsWithShards(): Promise<BusStats> {
  const bus = () => fixture().bus<BusStats>('stats');
  const unknown = async () => (await bus()).shards.filter(({ attached }) => attached === undefined);
  await expect.poll(unknown).toEqual([]);
  return await bus();
}

function batches(shards: BusStats['shards']): Promise<number[]> {
  return Promise.all(shards.map(({ shard }) => fixture().shard<number>(shard, 'batches')));
}

/** The number of shards with streams. */
async function holding(shards: BusStats['shards']): Promise<number> {
  const stats = await Promise.all(
    shards.map(({ shard }) => fixture().shard<BusStats>(shard, 'stats')),
  );
  return stats.filter(({ attached }) => attached > 0).length;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
