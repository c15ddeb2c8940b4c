import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { change, fields, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';

const fixture = useFixture();

test('a stream is silent until its client is ready, in whatever isolate', async () => {
  const session = await LegacySession.initialize(fixture().via(0));
  await changeAll(1);
  const stream = await fixture().openSession(session, 1);
  expect(fields(await stream.event()).data).toBe('');
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const first = stream.event();
  await changeAll(0);
  expect(await Promise.race([first, setTimeout(500, 'silence')])).toBe('silence');
  await changeAll(1);
  expect((await session.ready()).status).toBe(202);
  expect(fields(await first).data).toEqual(listChange('tools'));
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  await fixture().publish(1, { kind: 'prompts_list_changed' });
  expect(await nextMessage(stream)).toEqual(listChange('prompts'));
});

test('the bus remembers after hibernation and reset whether a client is ready', async () => {
  const session = await LegacySession.initialize(fixture().via(0));
  const stream = await fixture().openSession(session, 1);
  const { id } = fields(await stream.event());
  const wakes = await fixture().bus<number>('wakes');
  await fixture().hibernate();
  await session.ask('resources/subscribe', { uri: 'note://a' });
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  const first = stream.event();
  await changeAll(0);
  expect(await Promise.race([first, setTimeout(500, 'silence')])).toBe('silence');
  await session.ready();
  expect(fields(await first).data).toEqual(change('note://a'));
  expect(await nextMessage(stream)).toEqual(listChange('tools'));
  await fixture().post(1, '/bus/reset');
  stream.drop();
  const next = await fixture().openSession(session, 0, id);
  await next.event();
  expect(await nextMessage(next)).toEqual(change('note://a'));
});

test('the first stream of a session receives what changed since it began, after a reset too', async () => {
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  await changeAll(1);
  await fixture().post(1, '/bus/reset');
  await changeAll(1);
  const stream = await fixture().openSession(session, 1);
  await stream.event();
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  expect(await nextMessage(stream)).toEqual(listChange('tools'));
  await fixture().publish(0, { kind: 'resources_list_changed' });
  expect(await nextMessage(stream)).toEqual(listChange('resources'));
});

test('sessions that the bus stored in an older format are over, and new ones begin', async () => {
  const session = await fixture().session(0);
  await fixture().post(1, '/bus/age');
  await fixture().post(1, '/bus/reset');
  await changeAll(1);
  expect((await session.get()).status).toBe(404);
  const next = await fixture().session(1);
  await changeAll(1);
  const other = await fixture().openSession(next, 0);
  await other.event();
  expect(await nextMessage(other)).toEqual(listChange('tools'));
});

/** Changes the resource `note://a`, then the list of tools. */
async function changeAll(edge: number): Promise<void> {
  await fixture().publish(edge, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(edge, { kind: 'tools_list_changed' });
}
