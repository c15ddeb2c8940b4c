import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { listChanged, updated } from '../../host/listen.ts';

const fixture = useFixture();

test('an idle bus hibernates, and wakes to deliver to its open streams', async () => {
  const uris = Array.from({ length: 100 }, (_, place) => `note://${place}/${'x'.repeat(200)}`);
  const small = await fixture().subscribe(0, { toolsListChanged: true });
  const large = await fixture().subscribe(1, { resourceSubscriptions: uris });
  await small.message();
  await large.message();
  const spoilt = await fixture().subscribe(0, { resourceSubscriptions: ['note://spoilt'] });
  await spoilt.message();
  await fixture().post(1, '/bus/spoil', 'note://spoilt');
  const wakes = await fixture().bus<number>('wakes');
  await setTimeout(IDLE_MS);
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  expect(await small.message()).toBe(listChanged('1', 'tools'));
  await fixture().publish(0, { kind: 'resource_updated', uri: uris[99] });
  expect(await large.message()).toBe(updated('1', uris[99] ?? ''));
  // The bus has kept the position that it sent last to each stream.
  expect(await fixture().stats(1)).toMatchObject({ healed: 0, gaps: 0 });
  // A stream whose filter cannot be restored attaches again with it.
  await fixture().publish(0, { kind: 'resource_updated', uri: 'note://spoilt' });
  expect(await spoilt.message()).toBe(updated('1', 'note://spoilt'));
});

test('a publish has its position in the log before it resolves', async () => {
  const { position } = await fixture().bus<{ position: number }>('stats');
  for (let count = 1; count <= 3; count += 1) {
    expect(await fixture().publish(count % 2, { kind: 'tools_list_changed' })).toBe(200);
    const positions = await fixture().bus<number[]>('positions');
    expect(positions.at(-1)).toBe(position + count);
  }
});

test('positions continue after a reset', async () => {
  await fixture().publish(0, { kind: 'tools_list_changed' });
  const { position } = await fixture().bus<{ position: number }>('stats');
  await fixture().post(1, '/bus/reset');
  await fixture().publish(0, { kind: 'tools_list_changed' });
  expect(await fixture().bus('stats')).toMatchObject({ position: position + 1 });
});

test('the bus trims its log in batches', async () => {
  const event = JSON.stringify({ kind: 'tools_list_changed' });
  await fixture().post(1, '/bus/publish-many?count=12000', event);
  const positions = await fixture().bus<number[]>('positions');
  expect(positions.length).toBeGreaterThanOrEqual(10_000);
  expect(positions.length).toBeLessThan(11_000);
});

test('a bus accepts only WebSockets, and only those of edges', async () => {
  expect((await fixture().post(0, '/bus/socket')).status).toBe(426);
  expect((await fixture().post(0, '/bus/raw-socket')).status).toBe(403);
  expect(await fixture().upgrade(0, '', 'raw-socket')).toBe(403);
});

test('the bus drops and counts frames that it cannot read, and keeps the socket', async () => {
  const before = await fixture().bus<{ dropped: number }>('stats');
  const socket = await fixture().rawEdge(0);
  for (const frame of [
    '',
    'null',
    '{"v":2,"type":"follow"}',
    '{"v":1,"type":"unheard-of"}',
    '{"v":1,"type":"follow"}',
  ]) {
    socket.send(frame);
  }
  socket.send(new Uint8Array([1, 2, 3]));
  const reply = nextFrame(socket);
  socket.send('{"v":1,"type":"follow","seq":1,"fresh":true,"add":["tools"],"unheard-of":1}');
  expect(JSON.parse(await reply)).toMatchObject({
    v: 1,
    type: 'followed',
    seq: 1,
    position: expect.any(Number),
  });
  const event = nextFrame(socket);
  await fixture().publish(1, { kind: 'prompts_list_changed' });
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(JSON.parse(await event)).toMatchObject({
    type: 'batch',
    events: [{ event: { kind: 'tools_list_changed' } }],
  });
  expect(await fixture().bus('stats')).toMatchObject({ attached: 1, dropped: before.dropped + 6 });
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  socket.send('{"v":1,"type":"detach"}');
  await closed;
  await fixture().untilAttached(0);
});

test('the bus refuses a malformed event, and logs nothing', async () => {
  const { position } = await fixture().bus<{ position: number }>('stats');
  for (const event of [
    {},
    { kind: 'x' },
    { kind: 'resource_updated' },
    { kind: 'resource_updated', uri: 'a\n' },
  ]) {
    expect(await fixture().publish(0, event)).toBe(400);
  }
  expect(await fixture().bus('stats')).toMatchObject({ position });
});

test('the bus refuses what is not one line for each event, and logs nothing', async () => {
  const position = await fixture().position();
  const line = '{"kind":"tools_list_changed"}';
  for (const texts of [[''], [line, ''], [line.replace(':', ':\n')], [`${line}\n${line}`]]) {
    const call = JSON.stringify(['publishAll', texts]);
    expect((await fixture().post(1, '/bus/call', call)).status).toBe(500);
  }
  expect(await fixture().position()).toBe(position);
  const call = JSON.stringify(['publishAll', [line, line]]);
  expect(await (await fixture().post(1, '/bus/call', call)).json()).toBe(position + 2);
});

function nextFrame(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(data), { once: true });
  });
}

/** Objects hibernate after ten idle seconds. */
const IDLE_MS = 15_000;
