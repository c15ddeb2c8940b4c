import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { fields } from '../../host/legacy.ts';
import { acknowledged, listChanged, updated, type WireStream } from '../../host/listen.ts';

const fixture = useFixture();

test('a session that began in one isolate has its stream in another, and hears what either publishes', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 1);
  expect(stream.response.status).toBe(200);
  expect(fields(await stream.event())).toMatchObject({ data: '' });
  expect(await session.ask('resources/subscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(stream)).toEqual(change('note://a'));
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await heard(stream)).toEqual(TOOLS);
  const other = session.via(fixture().via(1));
  expect(await other.ask('resources/unsubscribe', { uri: 'note://a' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await heard(stream)).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

test('one publish reaches a subscription and a session, each once and in its own words', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const legacy = await fixture().open(session, 0);
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
  expect(await heard(legacy)).toEqual(change('note://a'));
  expect(await heard(legacy)).toEqual(TOOLS);
});

test('a stream that comes back in another isolate hears what it missed, collapsed, and takes over', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 0);
  const { id } = fields(await stream.event());
  stream.drop();
  for (let count = 0; count < 3; count += 1) {
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
    await fixture().publish(1, { kind: 'tools_list_changed' });
  }
  const next = await fixture().open(session, 1, id);
  const begun = fields(await next.event());
  expect(begun).toMatchObject({ data: '' });
  expect(await heard(next)).toEqual(change('note://a'));
  expect(await heard(next)).toEqual(TOOLS);
  await fixture().publish(1, { kind: 'prompts_list_changed' });
  expect(await heard(next)).toMatchObject({ method: 'notifications/prompts/list_changed' });
  // Whatever its first id says is told, nothing of what follows is behind it.
  const third = await fixture().open(session, 0, begun.id);
  await third.event();
  expect(await heard(third)).toEqual(change('note://a'));
  expect(await heard(third)).toEqual(TOOLS);
  expect(await next.event()).toBeUndefined();
});

test('an event id that has left the log cues every subject once', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  const { id } = fields(await stream.event());
  await fixture().post(
    1,
    '/bus/publish-many?count=11001',
    JSON.stringify({ kind: 'resource_updated', uri: 'note://b' }),
  );
  const next = await fixture().open(session, 1, id);
  expect(fields(await next.event())).toMatchObject({ id: 'unknown' });
  for (const list of ['tools', 'prompts', 'resources']) {
    expect(await heard(next)).toMatchObject({ method: `notifications/${list}/list_changed` });
  }
});

test('a session has one stream, wherever it is asked for', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
  expect((await session.via(fixture().via(1)).get()).status).toBe(409);
  stream.drop();
  await fixture().attached(0);
  expect((await fixture().open(session, 1)).response.status).toBe(200);
});

test('ending a session in one isolate ends its stream in another', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 0);
  await stream.event();
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

test('sessions, what they watch and their streams outlive the hibernation of the bus', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 1);
  await stream.event();
  const wakes = await fixture().bus<number>('wakes');
  await fixture().hibernated();
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  expect(await heard(stream)).toEqual(change('note://a'));
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await heard(stream)).toEqual(change('note://b'));
  expect((await session.via(fixture().via(0)).get()).status).toBe(409);
});

test('sessions outlive a reset of the bus, and their streams stay open and hear what they missed', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 1);
  await stream.event();
  await fixture().post(1, '/bus/reset');
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
  expect(await heard(stream)).toEqual(change('note://a'));
  expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://b' });
  expect(await heard(stream)).toEqual(change('note://b'));
});

test('a session that was ended while its stream was away from the bus has no stream any more', async () => {
  const session = await fixture().session(0);
  const stream = await fixture().open(session, 1);
  await stream.event();
  await fixture().post(1, '/bus/reset');
  expect((await session.end()).status).toBe(200);
  expect(await stream.event()).toBeUndefined();
});

async function heard(stream: WireStream): Promise<unknown> {
  return fields(await stream.event()).data;
}

function change(uri: string): unknown {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
}

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
const TOOLS = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
