import { setTimeout } from 'node:timers/promises';
import type { ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { SOCKETS } from '../../host/fixture/start.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../../host/listen.ts';

const EDGES = 4;
/** Sockets of a shard: of as many streams, or one for those of an isolate on a continent. */
const PER_SHARD = SOCKETS === 'each' ? 4 : 3;
const STREAMS = 32;
const CONTINENTS = 2;
/** The sockets of all of them. */
const ALL_SOCKETS = SOCKETS === 'each' ? STREAMS : EDGES * CONTINENTS;
const fixture = useFixture({ EDGES_PER_SHARD: `${PER_SHARD}` }, EDGES);
const TOOLS = { kind: 'tools_list_changed' };

test('4 edge isolates, shards on 2 continents: a publish reaches the streams that want it, and calls no other shard', async () => {
  const streams = await opened(STREAMS);
  const bus = await fixture().bus<BusStats>('stats');
  expect(bus.shards.length).toBeGreaterThanOrEqual(ALL_SOCKETS / PER_SHARD);
  expect(bus.sockets).toBe(0);
  expect(new Set(bus.shards.map(({ continent }) => continent))).toEqual(new Set(['EU', 'OC']));
  await fixture().publish(0, TOOLS);
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await told()).toMatchObject({ attached: ALL_SOCKETS });
  const before = await batches(bus.shards);
  for (const { stream, uri } of streams) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
    expect(await stream.message()).toBe(updated('1', uri));
  }
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://nobody' });
  await fixture().publish(3, TOOLS);
  // Nothing else was written in between.
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const calls = sum(await batches(bus.shards)) - sum(before);
  expect(calls).toBe(streams.length + (await holding(bus.shards)));
});

test('a shard that is reset takes its streams back, and what is published meanwhile is heard', async () => {
  const streams = await opened(3 * PER_SHARD);
  for (let round = 0; round < 2; round += 1) {
    for (const shard of await shards()) {
      await fixture().post(0, `/bus/reset?shard=${shard}`);
      await fixture().publish(round, TOOLS);
      for (const { stream } of streams)
        expect(await stream.message()).toBe(listChanged('1', 'tools'));
    }
  }
  await whole();
});

test('a root that is reset before a shard has taken an event sends it again', async () => {
  const streams = await opened(2 * PER_SHARD);
  const { length } = await shards();
  // The root would call again soon, if it were not reset: then its alarm has to.
  await fixture().post(0, `/bus/refuse?batches=${length}`);
  await fixture().publish(1, TOOLS);
  await fixture().post(0, '/bus/reset');
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  for (const { stream, uri } of streams) {
    await fixture().publish(2, { kind: 'resource_updated', uri });
    expect(await stream.message()).toBe(updated('1', uri));
  }
});

test('shards close when few streams are left, and those go on at the root', async () => {
  const streams = await opened(3 * PER_SHARD);
  const former = await shards();
  const [last, ...others] = streams;
  for (const { stream } of others) stream.drop();
  await fixture().attached(1);
  await whole();
  if (last === undefined) throw new Error('no stream');
  await fixture().publish(1, TOOLS);
  expect(await last.stream.message()).toBe(listChanged('1', 'tools'));
  // New ones are taken there too, by isolates that knew shards, even ones that do not remember that
  // they were closed.
  for (const shard of former.slice(1)) await fixture().post(0, `/bus/reset?shard=${shard}`);
  const next = await opened(PER_SHARD - 1, 1);
  await fixture().publish(1, TOOLS);
  for (const { stream } of next) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await fixture().bus('stats')).toMatchObject({
    attached: PER_SHARD,
    sockets: PER_SHARD,
    shards: [],
  });
  // One more, and shards are opened again.
  await opened(1, PER_SHARD);
  expect((await shards()).length).toBe(2);
});

test('root and shards hibernate, and wake to deliver', async () => {
  const streams = await opened(2 * PER_SHARD);
  await fixture().publish(1, TOOLS);
  for (const { stream } of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const [shard = 0] = await shards();
  const before = await healed();
  const wakes = [
    await fixture().bus<number>('wakes'),
    await fixture().shard<number>(shard, 'wakes'),
  ];
  await setTimeout(IDLE_MS);
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
  await whole();
  expect(await healed()).toBe(before);
});

test('an edge is sent to a shard with its name, and a shard that is full or unknown sends it back', async () => {
  await opened(2 * PER_SHARD);
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
  /** What no other stream watches. */
  uri: string;
}

let opening = 0;

/**
 * Streams that the isolates hold in turn, of clients on two continents, all of them acknowledged
 * and attached; beginning at the place `first` of their turns.
 */
async function opened(count: number, first = 0): Promise<Opened[]> {
  const streams = [];
  for (let place = first; place < first + count; place += 1) {
    opening += 1;
    const uri = `note://${opening}`;
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const headers = { 'x-continent': place % 8 < 4 ? 'EU' : 'OC' };
    const stream = await fixture().subscribe(place % EDGES, filter, { headers });
    expect(await stream.message()).toBe(acknowledged('1', filter));
    streams.push({ stream, uri });
  }
  await whole();
  return streams;
}

/** How often a stream was away and came back. */
async function healed(): Promise<number> {
  return sum((await stats()).map(({ healed }) => healed));
}

function stats(): Promise<ListenStats[]> {
  return Promise.all(Array.from({ length: EDGES }, (_, edge) => fixture().stats(edge)));
}

/** Resolves once no stream is away from its bus, and none has missed what could not be told. */
async function whole(): Promise<void> {
  const away = async () => sum((await stats()).map(({ away }) => away));
  await expect.poll(away, { timeout: 10_000 }).toBe(0);
  expect(sum((await stats()).map(({ resyncs }) => resyncs))).toBe(0);
}

/** The numbers of the shards that are there. */
async function shards(): Promise<number[]> {
  const { shards } = await fixture().bus<BusStats>('stats');
  expect(shards.length).toBeGreaterThanOrEqual(2);
  return shards.map(({ shard }) => shard);
}

/** The bus, once every shard has told how many streams it holds. */
async function told(): Promise<BusStats> {
  const bus = () => fixture().bus<BusStats>('stats');
  const unknown = async () => (await bus()).shards.filter(({ attached }) => attached === undefined);
  await expect.poll(unknown).toEqual([]);
  return await bus();
}

function batches(shards: BusStats['shards']): Promise<number[]> {
  return Promise.all(shards.map(({ shard }) => fixture().shard<number>(shard, 'batches')));
}

/** How many shards hold any stream. */
async function holding(shards: BusStats['shards']): Promise<number> {
  const stats = await Promise.all(
    shards.map(({ shard }) => fixture().shard<BusStats>(shard, 'stats')),
  );
  return stats.filter(({ attached }) => attached > 0).length;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Objects hibernate after ten seconds without anything to do. */
const IDLE_MS = 13_000;
