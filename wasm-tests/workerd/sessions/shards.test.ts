import type { BusStats } from 'mcp-listen/cloudflare';
import { beforeEach, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { change, fields, heard, listChange } from '../../host/legacy.ts';

const fixture = useFixture({ EDGES_PER_SHARD: '2' }, 4);

// With these, streams are at shards.
beforeEach(async () => {
  for (let edge = 0; edge < 3; edge += 1)
    await (await fixture().subscribe(edge, { toolsListChanged: true })).message();
  await expect.poll(async () => (await fixture().bus<BusStats>('stats')).sockets).toBe(0);
});

test('the stream of a session is at a shard, and hears what the session watches', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 1);
  expect(fields(await stream.event())).toMatchObject({ data: '' });
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 0 });
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(stream)).toEqual(change('note://a'));
  const other = session.via(fixture().via(3));
  expect(await other.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await heard(stream)).toEqual(change('note://b'));
  expect(await other.ask('resources/unsubscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await heard(stream)).toEqual(listChange('prompts'));
});

test('a stream that comes back at another shard hears what it missed, and takes over', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 0);
  const { id } = fields(await stream.event());
  expect((await session.via(fixture().via(1)).get()).status).toBe(409);
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(stream)).toEqual(change('note://a'));
  const next = await fixture().open(session, 1, id, { 'x-continent': 'OC' });
  expect(fields(await next.event())).toEqual({ id, data: '' });
  expect(await heard(next)).toEqual(change('note://a'));
  expect(await stream.event()).toBeUndefined();
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(next)).toEqual(change('note://a'));
});

test('a stream that left its shard frees its session', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
  stream.drop();
  const again = async () => (await fixture().open(session, 1)).response.status;
  await expect.poll(again, { timeout: 5_000 }).toBe(200);
});

test('a stream that was lost with its shard and does not come back frees its session too', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
  stream.drop();
  await expect
    .poll(async () =>
      (await fixture().bus<BusStats>('stats')).shards.map(({ attached }) => attached),
    )
    .toContain(1);
  const { shards } = await fixture().bus<BusStats>('stats');
  const { shard } = shards.find(({ attached }) => attached === 1) ?? { shard: 0 };
  const lost = await fixture().rawEdge(0, `?shard=${shard}`);
  lost.send(
    `{"v":1,"type":"follow","seq":1,"fresh":true,"add":["tools"],"joined":["${session.id} 1"]}`,
  );
  await new Promise((resolve) => lost.addEventListener('message', resolve, { once: true }));
  expect((await fixture().open(session, 1)).response.status).toBe(409);
  await fixture().post(0, `/bus/reset?shard=${shard}`);
  const again = async () => (await fixture().open(session, 1)).response.status;
  await expect.poll(again, { timeout: 10_000 }).toBe(200);
});

test('ending a session ends its stream at a shard', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
  expect((await session.via(fixture().via(1)).end()).status).toBe(200);
  expect(await stream.event()).toBeUndefined();
  expect((await session.get()).status).toBe(404);
});

test('ending a session ends its stream at a shard, also where the shard could not be told at once', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
  await fixture().post(0, '/bus/deafen?calls=2');
  expect((await session.via(fixture().via(1)).end()).status).toBe(503);
  expect((await session.get()).status).toBe(404);
  // The alarm of the bus tells the shard again, until it has let the stream go.
  expect(await stream.event()).toBeUndefined();
});

test('the stream of a session misses nothing when its shard is reset, or the root', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 1);
  await stream.event();
  for (const { shard } of (await fixture().bus<BusStats>('stats')).shards) {
    await fixture().post(0, `/bus/reset?shard=${shard}`);
  }
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(stream)).toEqual(change('note://a'));
  await fixture().post(0, '/bus/reset');
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://b' });
  expect(await heard(stream)).toEqual(change('note://b'));
  expect((await session.via(fixture().via(3)).get()).status).toBe(409);
});

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
