import type { Snapshot } from 'mcp-listen';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { updated, WireStream } from '../../host/listen.ts';
import { SECRET } from '../../host/signing.ts';

const CONTINENTS = ['EU', 'EU', 'NA', 'AS'];
const fixture = useFixture({ EDGES_PER_SHARD: '2' }, CONTINENTS.length);

test('a snapshot shows every shard and isolate, and the listeners of each topic', async () => {
  await openEverywhere();
  // Connections that the bus sends on to shards reconnect there.
  await expect.poll(async () => attachedOf(await snapshot(0))).toBe(4);
  const { callers, isolates, objects, topics } = await snapshot(0, '?callers=1');
  expect(isolates.map(({ streams }) => streams.open)).toEqual([1, 1, 1, 1]);
  expect(isolates.every(({ streams }) => total(streams.acknowledged) === 1)).toBe(true);
  expect(objects.find(({ shard }) => shard === 0)).toMatchObject({ attached: 0, sockets: {} });
  const shards = objects.filter(({ shard }) => shard > 0);
  expect(shards.length).toBeGreaterThanOrEqual(3);
  expect(new Set(shards.map(({ continent }) => continent))).toEqual(new Set(CONTINENTS));
  const sockets = shards.flatMap((shard) => Object.entries(shard.sockets));
  expect(sockets.sort()).toEqual(isolates.map(({ isolate }) => [isolate, 1]).sort());
  expect(topics.slice(0, 2)).toEqual([
    { topic: 'resource:note://all', streams: 4 },
    { topic: 'resource:note://0', streams: 1 },
  ]);
  expect(callers).toEqual([{ topic: 'principal:ann', streams: 4 }]);
  expect(await snapshot(0)).not.toHaveProperty('callers');
});

test('the log has the last events and their positions, and names no caller unless asked', async () => {
  const before = await fixture().position();
  const events = [{ kind: 'tools_list_changed' }, { kind: 'disconnect', principal: 'bob' }];
  expect(await operate({ do: 'publish', events })).toEqual({ position: before + 2 });
  const { log } = await snapshot(1, `?after=${before}`);
  expect(log.map(({ event, position }) => [position, event])).toEqual([
    [before + 1, { kind: 'tools_list_changed' }],
    [before + 2, { kind: 'disconnect' }],
  ]);
  const named = await snapshot(1, `?callers=1&after=${before + 1}`);
  expect(named.log).toMatchObject([{ event: { kind: 'disconnect', principal: 'bob' } }]);
});

test('after a position of a log before, the log has all its last events', async () => {
  await fixture().publish(0, { kind: 'tools_list_changed' });
  const last = await fixture().position();
  const { log } = await snapshot(1, `?after=${last + 1_000}`);
  expect(log.at(-1)).toMatchObject({ position: last });
});

test('streams of one isolate, the oldest of each, or those of a caller are ended', async () => {
  const streams = await openEverywhere();
  const [first, second, third, fourth] = streams as [
    WireStream,
    WireStream,
    WireStream,
    WireStream,
  ];
  const { isolate } = await snapshot(2);
  expect(await operate({ do: 'drain', count: 1, isolate, windowMs: 0 })).toEqual({
    isolates: [isolate],
  });
  expect(await third.message()).toBeUndefined();
  await operate({ do: 'publish', events: [{ kind: 'resource_updated', uri: 'note://all' }] });
  for (const stream of [first, second, fourth])
    expect(await stream.message()).toBe(updated('1', 'note://all'));
  const again = await fixture().open(2, { toolsListChanged: true });
  await operate({ do: 'disconnect', principal: 'ann' });
  for (const stream of [first, second, fourth]) expect(await stream.message()).toBeUndefined();
  await openEverywhere();
  const { isolates } = (await operate({ do: 'drain', count: 1, windowMs: 0 })) as {
    isolates: string[];
  };
  expect(isolates).toHaveLength(CONTINENTS.length);
  expect(await again.message()).toBeUndefined();
});

test('the bus counts the streams of a caller in all isolates', async () => {
  const streams = await openEverywhere();
  await fixture().open(1, { toolsListChanged: true }, { headers: { 'x-user': 'bob' } });
  for (const edge of [0, 3])
    await expect.poll(() => listenersOf('ann', edge)).toBe(CONTINENTS.length);
  await expect.poll(() => listenersOf('bob')).toBe(1);
  expect(await listenersOf('cat')).toBe(0);
  for (const stream of streams.slice(1)) stream.drop();
  await expect.poll(() => listenersOf('ann', 3)).toBe(1);
  await operate({ do: 'disconnect', principal: 'ann' });
  await expect.poll(() => listenersOf('ann')).toBe(0);
  await expect.poll(() => listenersOf('bob')).toBe(1);
});

test('a stream has each event of the log once, and asks nothing after its client has left', async () => {
  const before = await fixture().position();
  const abort = new AbortController();
  const url = fixture().urlOf(0, `/console/stats?after=${before}`);
  const headers = { ...BEARER, accept: 'text/event-stream' };
  const watched = new WireStream(await fetch(url, { headers, signal: abort.signal }), abort);
  const seen: number[] = [];
  while (seen.length < 3) {
    await fixture().publish(1, { kind: 'tools_list_changed' });
    const { log } = JSON.parse((await watched.block())?.slice('data: '.length) ?? '') as Snapshot;
    seen.push(...log.map(({ position }) => position - before));
  }
  expect(seen).toEqual(seen.map((_, index) => index + 1));
  watched.drop();
  // A stream asks once a second; workerd notices at its next write that the client has left.
  let last = -1;
  const asksNoMore = async () => {
    const asked = await fixture().bus<number>('asked');
    const isSame = asked === last;
    last = asked;
    return isSame;
  };
  await expect.poll(asksNoMore, { interval: 2_500 }).toBe(true);
});

/** Opens a stream of one caller in each isolate. */
function openEverywhere(): Promise<WireStream[]> {
  return Promise.all(
    CONTINENTS.map((continent, edge) =>
      fixture().open(
        edge,
        { resourceSubscriptions: ['note://all', `note://${edge}`] },
        { headers: { 'x-continent': continent, 'x-user': 'ann' } },
      ),
    ),
  );
}

async function snapshot(edge: number, query = ''): Promise<Snapshot> {
  const url = fixture().urlOf(edge, `/console/stats${query}`);
  return (await (await fetch(url, { headers: BEARER })).json()) as Snapshot;
}

async function listenersOf(principal: string, edge = 0): Promise<number> {
  const url = fixture().urlOf(edge, `/listeners?principal=${principal}`);
  return (await (await fetch(url)).json()) as number;
}

async function operate(order: object): Promise<object> {
  const url = fixture().urlOf(0, '/console/operate');
  const body = JSON.stringify(order);
  return (await (await fetch(url, { method: 'POST', headers: BEARER, body })).json()) as object;
}

function attachedOf({ objects }: Snapshot): number {
  return objects.reduce((sum, { attached = 0, shard }) => sum + (shard > 0 ? attached : 0), 0);
}

function total(ranges: readonly { count: number }[]): number {
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

const BEARER = { authorization: `Bearer ${SECRET}` };
