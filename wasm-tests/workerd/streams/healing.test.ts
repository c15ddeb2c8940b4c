import { expect, test } from 'vitest';
import { socketsOf, useFixture } from '../../host/fixture/fixture.ts';
import { fields, LegacySession } from '../../host/legacy.ts';
import {
  acknowledged,
  listChanged,
  taskState,
  updated,
  type WireStream,
} from '../../host/listen.ts';

const fixture = useFixture();
const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };

test('a reset of the bus breaks no stream: what is published right after is heard', async () => {
  const streams = await Promise.all(Array.from({ length: 20 }, (_, place) => opened(place % 2)));
  for (let round = 0; round < 3; round += 1) {
    await fixture().post(1, '/bus/reset');
    const uri = 'note://a';
    expect(await fixture().publish(round % 2, { kind: 'resource_updated', uri })).toBe(200);
    for (const stream of streams) expect(await stream.message()).toBe(updated('1', uri));
  }
  await fixture().publish(0, { kind: 'tools_list_changed' });
  // Nothing else was written in between: each cue came once.
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await fixture().attached(socketsOf(20, 2));
  const stats = await fixture().stats(0);
  expect(stats).toMatchObject({ open: 10, away: 0, gaps: 0, resyncs: 0 });
  expect(stats.healed).toBeGreaterThanOrEqual(20);
});

test('a stream hears once what changed while its bus was away for seconds', async () => {
  const stream = await opened(0);
  await fixture().post(1, '/bus/shut?ms=4000');
  await fixture().post(1, '/bus/reset');
  await expect.poll(async () => (await fixture().stats(0)).away).toBe(1);
  for (let count = 0; count < 3; count += 1) {
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
    await fixture().publish(1, TOOLS);
  }
  for (let count = 0; count < 3; count += 1) expect(await stream.block()).toMatch(/^:/);
  // A client that comes now is told to come back.
  const { response } = await fixture().subscribe(1, FILTER);
  expect(response.status).toBe(503);
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect((await fixture().stats(0)).away).toBe(0);
});

test('what a stream was sent last outlives the hibernation of the bus', async () => {
  const stream = await opened(0);
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  const wakes = await fixture().bus<number>('wakes');
  const { gaps } = await fixture().stats(0);
  await fixture().hibernated();
  await fixture().publish(1, TOOLS);
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  // What was lost before is missed after.
  const heard = new Set<string | undefined>();
  while (heard.size < 2) heard.add(await stream.message());
  expect([...heard].sort()).toEqual([listChanged('1', 'tools'), updated('1', 'note://a')].sort());
  expect(await fixture().stats(0)).toMatchObject({ gaps: gaps + 1, resyncs: 0 });
});

test('a frame that was lost on an open socket is missed at the next one', async () => {
  const stream = await opened(0);
  const { gaps } = await fixture().stats(0);
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'tools_list_changed' });
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  const heard = new Set<string | undefined>();
  while (heard.size < 2) heard.add(await stream.message());
  expect([...heard].sort()).toEqual([listChanged('1', 'tools'), updated('1', 'note://a')].sort());
  expect(await fixture().stats(0)).toMatchObject({ gaps: gaps + 1, resyncs: 0 });
});

test.each([false, true])(
  'a stream that asks its bus misses nothing for long (forgetful bus: %s)',
  async (isForgetful) => {
    const stream = await fixture().subscribeWith(0, { busProbeIntervalMs: 500 }, FILTER);
    expect(await stream.message()).toBe(acknowledged('1', FILTER));
    await fixture().post(1, `/bus/forgetful?is=${isForgetful}`);
    await fixture().post(1, '/bus/mute?frames=1');
    await fixture().publish(1, TOOLS);
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await fixture().post(1, '/bus/forgetful?is=false');
  },
);

test('a large interest is kept once, however often its stream asks', async () => {
  const uris = Array.from({ length: 100 }, (_, place) => `note://${place}/${'x'.repeat(200)}`);
  const stream = await fixture().subscribeWith(
    0,
    { busProbeIntervalMs: 100 },
    { resourceSubscriptions: uris },
  );
  await stream.message();
  for (let count = 0; count < 3; count += 1) expect(await stream.block()).toMatch(/^:/);
  expect(await fixture().bus('interests')).toBe(1);
  await fixture().publish(1, { kind: 'resource_updated', uri: uris[99] });
  expect(await stream.message()).toBe(updated('1', uris[99] ?? ''));
  await fixture().dropAll();
  expect(await fixture().bus('interests')).toBe(0);
});

test('the stream of a session that asks its bus stays the one that it is', async () => {
  const asking = (init: RequestInit) => fixture().sendWith(0, { busProbeIntervalMs: 100 }, init);
  const session = await LegacySession.begin(asking);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  await stream.event();
  for (let count = 0; count < 2; count += 1) expect(await stream.block()).toMatch(/^:/);
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  stream.drop();
});

test('a bus that forgets what it sent is followed through a reset all the same', async () => {
  await fixture().post(1, '/bus/forgetful?is=true');
  const stream = await opened(0);
  await fixture().post(1, '/bus/reset');
  await fixture().publish(1, TOOLS);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await fixture().post(1, '/bus/forgetful?is=false');
});

test.each([
  ['that may be tried again is tried again', { failures: 2, retryable: true }, undefined, 3],
  ['that keeps failing is given up', { failures: 9, retryable: true }, 'bus-unavailable', 3],
  ['that is no use to try again is not', { failures: 1 }, 'bus-unavailable', 1],
  [
    'that is overloaded is left alone',
    { failures: 1, retryable: true, overloaded: true },
    'bus-overloaded',
    1,
  ],
])('a publish %s', async (_name, flaw, code, calls) => {
  const answer = await fixture().post(0, '/flaky/publish', JSON.stringify({ event: TOOLS, flaw }));
  expect(await answer.json()).toEqual({ ...(code !== undefined && { code }), calls });
});

const TASK_STATUS = { kind: 'task_status', task: taskState('t') };

test.each([
  ['for everybody', TASK_STATUS],
  ['for a group', { kind: 'for_group', group: 'acme', event: TASK_STATUS }],
])(
  'the state of a task %s is published once: tried again, it might come after the next',
  async (_for, event) => {
    const flaw = { failures: 1, retryable: true };
    const answer = await fixture().post(0, '/flaky/publish', JSON.stringify({ event, flaw }));
    expect(await answer.json()).toEqual({ code: 'bus-unavailable', calls: 1 });
  },
);

test.each([
  ['moved', { failures: 1, retryable: true }, 200],
  ['overloaded', { failures: 1, retryable: true, overloaded: true }, 503],
])('a stream that opens while the bus is %s', async (_name, flaw, status) => {
  const { response } = await fixture().subscribeFlakily(0, flaw, FILTER);
  expect(response.status).toBe(status);
});

test('events are published together or not at all, and each stream hears its own in order', async () => {
  const stream = await opened(0);
  const { position } = await fixture().bus<{ position: number }>('stats');
  const events = [
    { kind: 'resource_updated', uri: 'note://a' },
    { kind: 'prompts_list_changed' },
    TOOLS,
  ];
  for (const path of ['/publish-all', '/bus/publish-all']) {
    expect((await fixture().post(1, path, JSON.stringify([...events, { kind: 'x' }]))).status).toBe(
      400,
    );
  }
  expect(await fixture().bus('stats')).toMatchObject({ position });
  expect((await fixture().post(1, '/publish-all', JSON.stringify(events))).status).toBe(200);
  expect(await fixture().bus('stats')).toMatchObject({ position: position + 3 });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('a listener hears what it missed while the bus was away', async () => {
  const listening = await fixture().post(0, '/subscribe?until=note://end');
  const lines = listening.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await lines?.read())?.value).toBe('listening\n');
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ attached: 1 });
  await fixture().publish(1, TOOLS);
  await fixture().post(1, '/bus/reset');
  for (const uri of ['note://a', 'note://a', 'note://b', 'note://end']) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
  }
  let heard = '';
  for (let read = await lines?.read(); read?.done === false; read = await lines?.read())
    heard += read.value;
  // What is published while it comes back may be heard twice.
  expect([...new Set(heard.trim().split('\n'))]).toEqual([
    'tools_list_changed',
    'note://a',
    'note://b',
    'note://end',
  ]);
});

test('the stream of a session misses nothing when its bus is reset', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().open(session, 1);
  const first = fields(await stream.event());
  for (let round = 0; round < 3; round += 1) {
    await fixture().post(1, '/bus/reset');
    await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
    expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  }
  expect(first.id).toMatch(/^\d+-/);
});

/** A stream that is attached and acknowledged. */
async function opened(edge: number): Promise<WireStream> {
  const stream = await fixture().subscribe(edge, FILTER);
  expect(stream.response.status).toBe(200);
  expect(await stream.message()).toBe(acknowledged('1', FILTER));
  return stream;
}

const TOOLS = { kind: 'tools_list_changed' };
