import type { BusStats } from 'mcp-listen/cloudflare';
import { beforeEach, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { change, fields, listChange, nextMessage } from '../../host/legacy.ts';
import { retried } from '../../host/retried.ts';

const fixture = useFixture({ EDGES_PER_SHARD: '2' }, 4);

// With these streams, the bus has shards.
beforeEach(async () => {
  for (let edge = 0; edge < 3; edge += 1)
    await (await fixture().subscribe(edge, { toolsListChanged: true })).message();
  await expect.poll(async () => (await fixture().bus<BusStats>('stats')).sockets).toBe(0);
  await untilBack();
});

test('the stream of a session at a shard receives what the session subscribes to', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 1);
  expect(fields(await stream.event())).toMatchObject({ data: '' });
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 0 });
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  const other = session.via(fixture().via(3));
  expect(await other.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await nextMessage(stream)).toEqual(change('note://b'));
  expect(await other.ask('resources/unsubscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await nextMessage(stream)).toEqual(listChange('prompts'));
});

test('a stream that resumes at another shard receives what it missed, and takes over', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 0);
  const { id } = fields(await stream.event());
  expect((await session.via(fixture().via(1)).get()).status).toBe(409);
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  const next = await fixture().openSession(session, 1, id, { 'x-continent': 'OC' });
  expect(fields(await next.event())).toEqual({ id, data: '' });
  expect(await nextMessage(next)).toEqual(change('note://a'));
  expect(await stream.event()).toBeUndefined();
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(next)).toEqual(change('note://a'));
});

test('a session may have a new stream once the old one has left its shard', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  stream.drop();
  const again = async () => (await fixture().openSession(session, 1)).response.status;
  await expect.poll(again).toBe(200);
});

test('a session may have a new stream once the old one was lost with its shard', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  stream.drop();
  const { shard, socket: lost } = await retried(attachToShard);
  lost.send(
    `{"v":1,"type":"follow","seq":1,"fresh":true,"add":["tools"],"joined":["${session.id} 1"]}`,
  );
  await new Promise((resolve) => lost.addEventListener('message', resolve, { once: true }));
  expect((await fixture().openSession(session, 1)).response.status).toBe(409);
  await fixture().post(0, `/bus/reset?shard=${shard}`);
  const again = async () => (await fixture().openSession(session, 1)).response.status;
  await expect.poll(again).toBe(200);
});

test('the end of a session ends its stream at a shard', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  expect((await session.via(fixture().via(1)).end()).status).toBe(200);
  expect(await stream.event()).toBeUndefined();
  expect((await session.get()).status).toBe(404);
});

test('the end of a session ends its stream at a shard, also after failed calls to the shard', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  await fixture().post(0, '/bus/refuseSessionCalls?calls=2');
  expect((await session.via(fixture().via(1)).end()).status).toBe(503);
  expect((await session.get()).status).toBe(404);
  // The alarm of the bus repeats the call.
  expect(await stream.event()).toBeUndefined();
});

test('the stream of a session misses nothing when its shard or the root is reset', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  for (const { shard } of (await fixture().bus<BusStats>('stats')).shards) {
    await fixture().post(0, `/bus/reset?shard=${shard}`);
  }
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  // Otherwise the bus may find one stream at its shards, and close them: the stream then moves.
  await untilBack();
  await fixture().post(0, '/bus/reset');
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(2, { kind: 'resource_updated', uri: 'note://b' });
  expect(await nextMessage(stream)).toEqual(change('note://b'));
  expect((await session.via(fixture().via(3)).get()).status).toBe(409);
});

/** Resolves once all streams are attached. */
async function untilBack(): Promise<void> {
  const away = async () => {
    const stats = await Promise.all([0, 1, 2, 3].map((edge) => fixture().stats(edge)));
    return stats.map((stats) => stats.away);
  };
  await expect.poll(away).toEqual([0, 0, 0, 0]);
}

/** Opens a socket at a shard with one edge; rejects if there is none, or if it closes meanwhile. */
async function attachToShard(): Promise<{ shard: number; socket: WebSocket }> {
  const { shards } = await fixture().bus<BusStats>('stats');
  const { shard } = shards.find(({ attached }) => attached === 1) ?? {};
  if (shard === undefined) throw new Error('no shard has one edge');
  return { shard, socket: await fixture().rawEdge(0, `?shard=${shard}`) };
}

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
