import { expect, test } from 'vitest';
import { spread } from '../../faults/judgement/heal.ts';
import { boundOf } from '../../faults/judgement/judgement.ts';
import { socketsOf, useFixture } from '../../host/fixture/fixture.ts';
import { fields, LegacySession } from '../../host/legacy.ts';
import {
  distinctMessages,
  listChanged,
  taskState,
  updated,
  type WireStream,
} from '../../host/listen.ts';
import { longestWait } from '../../host/processor.ts';

const fixture = useFixture();
const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };

test('streams stay open when the bus is reset, and receive what is published right after', async () => {
  const streams = await Promise.all(Array.from({ length: 20 }, (_, place) => open(place % 2)));
  const uri = 'note://a';
  const receive = async (round: number, since = performance.now()) => {
    expect(await fixture().publish(round % 2, { kind: 'resource_updated', uri })).toBe(200);
    for (const stream of streams) expect(await stream.message()).toBe(updated('1', uri));
    return performance.now() - since;
  };
  const calm = spread([await receive(0)]);
  for (let round = 0; round < 3; round += 1) {
    const [before, since] = [await fixture().waits(), performance.now()];
    await fixture().post(1, '/bus/reset');
    const ms = await receive(round, since);
    const machineMs = longestWait(before, await fixture().waits());
    expect(ms).toBeLessThanOrEqual(boundOf({}, { calm, isWhole: false, machineMs }).p99);
  }
  await fixture().publish(0, { kind: 'tools_list_changed' });
  // Nothing was written in between, so each cue came once.
  for (const stream of streams) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await fixture().untilAttached(socketsOf(20, 2));
  const stats = await fixture().stats(0);
  expect(stats).toMatchObject({ open: 10, away: 0, gaps: 0, resyncs: 0 });
  expect(stats.healed).toBeGreaterThanOrEqual(20);
});

test('a stream receives each change once that its bus took while it was away', async () => {
  const stream = await open(0);
  await fixture().post(1, '/bus/shut?ms=60000');
  await fixture().post(1, '/bus/reset');
  await expect.poll(async () => (await fixture().stats(0)).away).toBe(1);
  for (let count = 0; count < 3; count += 1) {
    await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
    await fixture().publish(1, TOOLS);
  }
  for (let count = 0; count < 3; count += 1) expect(await stream.block()).toMatch(/^:/);
  // A new stream is refused meanwhile.
  const { response } = await fixture().subscribe(1, FILTER);
  expect(response.status).toBe(503);
  await fixture().post(1, '/bus/shut?ms=0');
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect((await fixture().stats(0)).away).toBe(0);
});

test('a frame that was lost before the bus hibernated is sent again after it wakes', async () => {
  const stream = await open(0);
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  const wakes = await fixture().bus<number>('wakes');
  const { gaps } = await fixture().stats(0);
  await fixture().hibernate();
  await fixture().publish(1, TOOLS);
  expect(await fixture().bus<number>('wakes')).toBe(wakes + 1);
  // The bus has kept the position that it sent last, so the edge notices the gap.
  expect(await distinctMessages(stream, 2)).toEqual(BOTH);
  expect(await fixture().stats(0)).toMatchObject({ gaps: gaps + 1, resyncs: 0 });
});

test('an edge notices a frame that was lost on an open socket at the next frame', async () => {
  const stream = await open(0);
  const { gaps } = await fixture().stats(0);
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'tools_list_changed' });
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await distinctMessages(stream, 2)).toEqual(BOTH);
  expect(await fixture().stats(0)).toMatchObject({ gaps: gaps + 1, resyncs: 0 });
});

test.each([false, true])(
  'with busProbeIntervalMs a stream recovers a lost frame without another one (forgetful bus: %s)',
  async (isForgetful) => {
    const stream = await fixture().open(0, FILTER, { options: { busProbeIntervalMs: 500 } });
    await fixture().post(1, `/bus/forgetful?is=${isForgetful}`);
    await fixture().post(1, '/bus/mute?frames=1');
    await fixture().publish(1, TOOLS);
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    await fixture().post(1, '/bus/forgetful?is=false');
  },
);

test('a large filter is stored once, however often its stream attaches', async () => {
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

test('the stream of a session stays open when it attaches by busProbeIntervalMs', async () => {
  const probing = (init: RequestInit) => fixture().sendWith(0, { busProbeIntervalMs: 100 }, init);
  const session = await LegacySession.begin(probing);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  await stream.event();
  for (let count = 0; count < 2; count += 1) expect(await stream.block()).toMatch(/^:/);
  await fixture().post(1, '/bus/mute?frames=1');
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  stream.drop();
});

test('a stream survives the reset of a bus that sends no previous position', async () => {
  await fixture().post(1, '/bus/forgetful?is=true');
  const stream = await open(0);
  await fixture().post(1, '/bus/reset');
  await fixture().publish(1, TOOLS);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await fixture().post(1, '/bus/forgetful?is=false');
});

test.each([
  ['with retryable is tried up to three times', { failures: 2, retryable: true }, undefined, 3],
  ['that persists fails the publish', { failures: 9, retryable: true }, 'bus-unavailable', 3],
  ['without retryable is not tried again', { failures: 1 }, 'bus-unavailable', 1],
  [
    'with overloaded is not tried again',
    { failures: 1, retryable: true, overloaded: true },
    'bus-overloaded',
    1,
  ],
])('an error %s', async (_name, flaw, code, calls) => {
  const response = await fixture().post(
    0,
    '/flaky/publish',
    JSON.stringify({ event: TOOLS, flaw }),
  );
  expect(await response.json()).toEqual({ ...(code !== undefined && { code }), calls });
});

const TASK_STATUS = { kind: 'task_status', task: taskState('t') };

test.each([
  ['for everybody', TASK_STATUS],
  ['for a group', { kind: 'for_group', group: 'acme', event: TASK_STATUS }],
])(
  'the state of a task %s is not published again, because it might come after the next state',
  async (_for, event) => {
    const flaw = { failures: 1, retryable: true };
    const response = await fixture().post(0, '/flaky/publish', JSON.stringify({ event, flaw }));
    expect(await response.json()).toEqual({ code: 'bus-unavailable', calls: 1 });
  },
);

test.each([
  ['moved', 200, { failures: 1, retryable: true }],
  ['overloaded', 503, { failures: 1, retryable: true, overloaded: true }],
])('a stream that opens while the bus is %s gets %i', async (_name, status, flaw) => {
  const { response } = await fixture().subscribeFlakily(0, flaw, FILTER);
  expect(response.status).toBe(status);
});

test('several events are published all or none, and each stream receives its own in order', async () => {
  const stream = await open(0);
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

test('a listener of the bus receives what it missed while the bus was unavailable', async () => {
  const listening = await fixture().post(0, '/subscribe?until=note://end');
  const lines = listening.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await lines?.read())?.value).toBe('listening\n');
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ attached: 1 });
  await fixture().publish(1, TOOLS);
  await fixture().post(1, '/bus/reset');
  for (const uri of ['note://a', 'note://a', 'note://b', 'note://end']) {
    await fixture().publish(1, { kind: 'resource_updated', uri });
  }
  let received = '';
  for (let read = await lines?.read(); read?.done === false; read = await lines?.read())
    received += read.value;
  // An event that is published while the listener attaches may arrive twice.
  expect([...new Set(received.trim().split('\n'))]).toEqual([
    'tools_list_changed',
    'note://a',
    'note://b',
    'note://end',
  ]);
});

test('the stream of a session misses nothing when its bus is reset', async () => {
  const session = await fixture().session(0);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await fixture().openSession(session, 1);
  const first = fields(await stream.event());
  for (let round = 0; round < 3; round += 1) {
    await fixture().post(1, '/bus/reset');
    await fixture().publish(0, { kind: 'resource_updated', uri: 'note://a' });
    expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  }
  expect(first.id).toMatch(/^\d+-/);
});

function open(edge: number): Promise<WireStream> {
  return fixture().open(edge, FILTER);
}

const TOOLS = { kind: 'tools_list_changed' };
/** The cues of both topics of the filter. */
const BOTH = new Set([listChanged('1', 'tools'), updated('1', 'note://a')]);
