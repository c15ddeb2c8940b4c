import type { BusStats } from 'mcp-listen/cloudflare';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { change, fields, listChange, nextMessage } from '../../host/legacy.ts';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { pause } from '../../host/pause.ts';

const fixture = useFixture();

test('a session of one isolate may have its stream in another, which receives events of both', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().openSession(session, 1);
  expect(stream.response.status).toBe(200);
  expect(fields(await stream.event())).toMatchObject({ data: '' });
  expect(await session.ask('resources/subscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await nextMessage(stream)).toEqual(TOOLS);
  const other = session.via(fixture().via(1));
  expect(await other.ask('resources/unsubscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await nextMessage(stream)).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

test('one publish reaches a subscription and a session once, each in its own format', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const legacy = await fixture().openSession(session, 0);
  await legacy.event();
  const filter = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
  const modern = await fixture().subscribe(1, filter);
  expect(await modern.message()).toBe(acknowledged('1', filter));
  for (const event of [
    { kind: 'resource_updated', uri: 'note://a' },
    { kind: 'tools_list_changed' },
  ]) {
    await fixture().publish(1, event);
  }
  expect(await modern.message()).toBe(updated('1', 'note://a'));
  expect(await modern.message()).toBe(listChanged('1', 'tools'));
  expect(await nextMessage(legacy)).toEqual(change('note://a'));
  expect(await nextMessage(legacy)).toEqual(TOOLS);
});

test('a stream that resumes in another isolate receives what it missed, collapsed, and takes over', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 0);
  const { id } = fields(await stream.event());
  stream.drop();
  for (let count = 0; count < 3; count += 1) {
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
    await fixture().publish(1, { kind: 'tools_list_changed' });
  }
  const next = await fixture().openSession(session, 1, id);
  const begun = fields(await next.event());
  expect(begun).toMatchObject({ data: '' });
  expect(await nextMessage(next)).toEqual(change('note://a'));
  expect(await nextMessage(next)).toEqual(TOOLS);
  await fixture().publish(1, { kind: 'prompts_list_changed' });
  expect(await nextMessage(next)).toMatchObject({ method: 'notifications/prompts/list_changed' });
  // Its first id covers nothing of what follows.
  const third = await fixture().openSession(session, 0, begun.id);
  await third.event();
  expect(await nextMessage(third)).toEqual(change('note://a'));
  expect(await nextMessage(third)).toEqual(TOOLS);
  expect(await next.event()).toBeUndefined();
});

test('an event id that has left the log cues every list once', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().openSession(session, 0);
  const { id } = fields(await stream.event());
  await fixture().post(
    1,
    '/bus/publish-many?count=11001',
    JSON.stringify({ kind: 'resource_updated', uri: 'note://b' }),
  );
  const next = await fixture().openSession(session, 1, id);
  expect(fields(await next.event())).toMatchObject({ id: 'unknown' });
  for (const list of ['tools', 'prompts', 'resources']) {
    expect(await nextMessage(next)).toMatchObject({ method: `notifications/${list}/list_changed` });
  }
});

test('a session has one stream over all isolates', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  expect((await session.via(fixture().via(1)).get()).status).toBe(409);
  stream.drop();
  await fixture().untilAttached(0);
  expect((await fixture().openSession(session, 1)).response.status).toBe(200);
});

test('ending a session in one isolate ends its stream in another', async () => {
  const { session, stream } = await fixture().sessionWithStream();
  expect((await session.via(fixture().via(1)).end()).status).toBe(200);
  expect(await stream.event()).toBeUndefined();
  expect((await session.get()).status).toBe(404);
  expect((await session.end()).status).toBe(404);
});

test('a session belongs to its principal in every isolate', async () => {
  const session = (await fixture().session(0, { 'x-user': 'ann' })).via(fixture().via(1));
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await session.post(ping, { 'x-user': 'ann' })).status).toBe(200);
  expect((await session.post(ping, { 'x-user': 'bob' })).status).toBe(404);
  expect((await session.post(ping)).status).toBe(404);
});

test('sessions, their resources and their streams survive hibernation of the bus', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  const wakes = await fixture().bus<number>('wakes');
  await fixture().hibernate();
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await nextMessage(stream)).toEqual(change('note://b'));
  expect((await session.via(fixture().via(0)).get()).status).toBe(409);
});

test('a closed socket whose other end is gone holds no session after a hibernation', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  stream.drop();
  const attached = async () => (await fixture().bus<BusStats>('stats')).attached;
  await expect.poll(attached, { timeout: 10_000 }).toBe(0);
  const follow = (seq: number) =>
    JSON.stringify({ v: 1, type: 'follow', seq, fresh: true, joined: [`${session.id} 1`] });
  const gone = await fixture().deafEdge(0, follow(1));
  await expect.poll(attached).toBe(1);
  const taker = await fixture().rawEdge(0);
  const replied = new Promise((resolve) => taker.addEventListener('message', resolve));
  taker.send(follow(1));
  await replied;
  expect(await attached()).toBe(1);
  await fixture().hibernate();
  expect(await attached()).toBe(1);
  gone.destroy();
  // The bus learns that the other end is gone.
  await pause(500);
  expect((await session.via(fixture().via(1)).get()).status).toBe(409);
  taker.close();
});

test('sessions survive a reset of the bus, and their streams receive what they missed', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  await fixture().post(1, '/bus/reset');
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await nextMessage(stream)).toEqual(change('note://b'));
});

test('a stream ends whose session ended while it was away from the bus', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  await fixture().post(1, '/bus/reset');
  expect((await session.end()).status).toBe(200);
  expect(await stream.event()).toBeUndefined();
});

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
const TOOLS = listChange('tools');
