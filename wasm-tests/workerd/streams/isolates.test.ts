import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';

const fixture = useFixture();

test('a change published in one isolate reaches a stream of another, byte for byte', async () => {
  const honored = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
  const stream = await fixture().subscribe(0, honored);
  expect(stream.response.status).toBe(200);
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
  expect(stream.response.headers.get('cache-control')).toBe('no-cache, no-transform');
  expect(stream.response.headers.get('x-accel-buffering')).toBe('no');
  expect(await stream.event()).toBe(`event: message\ndata: ${acknowledged('1', honored)}`);
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await stream.event()).toBe(`event: message\ndata: ${listChanged('1', 'tools')}`);
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.event()).toBe(`event: message\ndata: ${updated('1', 'note://a')}`);
});

test('a stream receives nothing outside its filter', async () => {
  const stream = await fixture().subscribe(0, { promptsListChanged: true });
  expect(await stream.message()).toBe(acknowledged('1', { promptsListChanged: true }));
  await fixture().publish(1, { kind: 'tools_list_changed' });
  await fixture().publish(1, { kind: 'resources_list_changed' });
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  await fixture().publish(1, { kind: 'prompts_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
});

test.each(['1', '"1"', '0', '""', '12345678901234567890'])(
  'notifications carry the id %s unchanged',
  async (id) => {
    const stream = await fixture().subscribe(0, { toolsListChanged: true }, { id });
    expect(await stream.message()).toBe(acknowledged(id, { toolsListChanged: true }));
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(listChanged(id, 'tools'));
  },
);

test('two streams with the same id are independent', async () => {
  const one = await fixture().subscribe(0, { toolsListChanged: true }, { id: '"same"' });
  const other = await fixture().subscribe(1, { promptsListChanged: true }, { id: '"same"' });
  await one.message();
  await other.message();
  await fixture().publish(0, { kind: 'tools_list_changed' });
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await one.message()).toBe(listChanged('"same"', 'tools'));
  expect(await other.message()).toBe(listChanged('"same"', 'prompts'));
  one.drop();
  await fixture().untilAttached(1);
  await fixture().publish(0, { kind: 'prompts_list_changed' });
  expect(await other.message()).toBe(listChanged('"same"', 'prompts'));
});

test('a publish that is not awaited completes after the response', async () => {
  const stream = await fixture().subscribe(0, { toolsListChanged: true });
  await stream.message();
  await fixture().post(1, '/bus/hold?ms=500');
  const response = await fixture().post(
    1,
    '/publish-and-leave',
    JSON.stringify({ kind: 'tools_list_changed' }),
  );
  expect(response.status).toBe(200);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('a filter that exceeds a socket attachment is honored', async () => {
  const uris = Array.from({ length: 200 }, (_, index) => `note://${index}/${'x'.repeat(200)}`);
  const stream = await fixture().subscribe(0, { resourceSubscriptions: uris });
  expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: uris }));
  await fixture().publish(1, { kind: 'resource_updated', uri: uris[199] });
  expect(await stream.message()).toBe(updated('1', uris[199] ?? ''));
});
