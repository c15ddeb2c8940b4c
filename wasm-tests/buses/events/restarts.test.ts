import { cp, rm } from 'node:fs/promises';
import { createClient } from 'redis';
import { afterEach, expect, test, vi } from 'vitest';
import { EventCopy } from '../../../dist/bus/occurrences/event-copy.js';
import { poison } from '../../host/poison.ts';
import { startRedis } from '../brokers/broker-process.ts';
import { BrokerProxy } from '../brokers/broker-proxy.ts';
import { Cleanup } from '../cleanup.ts';
import { eventsOf, KEEPING, Places, redis } from './places.ts';

const cleanup = new Cleanup();
const places = new Places(cleanup);

afterEach(async () => {
  vi.restoreAllMocks();
  await cleanup.run();
});

test.each(KEEPING)(
  '%s: cursors and occurrences outlast the processes and the broker',
  async (_name, make, start) => {
    const broker = await places.started(start());
    const { port } = broker;
    const before = places.on(make, port);
    const { cursor } = await before.poll();
    const stream = await before.stream();
    await stream.next();
    await before.paid(1);
    await before.paid(2);
    const [first] = await eventsOf(stream, 1);
    await before.bus.close();
    await broker.kill();
    await broker.start();
    const after = places.on(make, port);
    expect(await after.poll(cursor)).toMatchObject({
      events: [{ eventId: '1' }, { eventId: '2' }],
      truncated: false,
    });
    const resumed = await after.stream(first?.cursor);
    expect(await resumed.next()).toMatchObject({ params: { truncated: false } });
    expect(await eventsOf(resumed, 1)).toMatchObject([{ eventId: '2', data: { number: 2 } }]);
    resumed.drop();
  },
);

test.each(KEEPING)(
  '%s: a process that was away for a restart goes on, and its streams too',
  async (_name, make, start) => {
    const { broker, port, stream } = await streaming(make, start);
    await broker.kill();
    await broker.start();
    const here = places.on(make, port);
    await here.poll();
    await here.paid(1);
    expect(await eventsOf(stream, 1)).toMatchObject([{ eventId: '1' }]);
    stream.drop();
  },
);

test.each(KEEPING)(
  '%s: a broker that comes back empty has another log: cursors are truncated',
  async (_name, make, start) => {
    const { broker, port, stream, there } = await streaming(make, start);
    await there.paid(1);
    await there.paid(2);
    const cursor = (await eventsOf(stream, 2))[1]?.cursor;
    await broker.kill();
    await broker.forget();
    await broker.start();
    const here = places.on(make, port);
    await here.poll();
    await here.paid(3);
    expect(await stream.next()).toMatchObject({ params: { truncated: true } });
    expect(await eventsOf(stream, 1)).toMatchObject([{ eventId: '3' }]);
    await expect.poll(() => here.poll(cursor)).toMatchObject({ truncated: true, hasMore: true });
    stream.drop();
  },
);

test('a Redis log that was wiped while it was followed is another log', async () => {
  const { port } = await places.started(startRedis());
  const here = places.on(redis, port);
  const { cursor } = await here.poll();
  await here.paid(1);
  await here.paid(2);
  expect(await here.numbers(cursor, 2)).toEqual([1, 2]);
  const admin = createClient({ url: `redis://127.0.0.1:${port}` });
  await admin.connect();
  await admin.sendCommand(['FLUSHALL']);
  await admin.close();
  await here.paid(3);
  await expect
    .poll(() => here.poll(cursor).catch(() => undefined))
    .toMatchObject({
      truncated: true,
    });
  const { cursor: oldest } = await here.poll(cursor);
  expect(await here.numbers(oldest, 1)).toEqual([3]);
});

test('a Redis log that has lost entries and given out their positions again is another log', async () => {
  const broker = await places.started(startRedis(true));
  const proxy = cleanup.later(await BrokerProxy.before(broker.port), (it) => it.stop());
  const away = places.on(redis, proxy.port);
  const { cursor } = await away.poll();
  for (const number of [1, 2]) await away.paid(number);
  const backup = `${broker.folder}-backup`;
  await cp(broker.folder, backup, { recursive: true });
  cleanup.later(backup, (it) => rm(it, { recursive: true }));
  for (const number of [3, 4]) await away.paid(number);
  expect(await away.numbers(cursor, 4)).toEqual([1, 2, 3, 4]);
  proxy.shut();
  await broker.kill();
  await broker.forget();
  await cp(backup, broker.folder, { recursive: true });
  await broker.start();
  const here = places.on(redis, broker.port);
  for (const number of [5, 6, 7]) await here.paid(number);
  proxy.open();
  await expect
    .poll(() => away.poll(cursor).catch(() => undefined))
    .toMatchObject({ truncated: true, hasMore: true });
  const { cursor: oldest } = await away.poll(cursor);
  expect(await away.numbers(oldest, 5)).toEqual([1, 2, 5, 6, 7]);
});

test.each(KEEPING)(
  '%s: a trap of the core while cues are delivered costs no occurrence',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const here = places.on(make, port);
    const { cursor } = await here.poll();
    const { append } = EventCopy.prototype;
    vi.spyOn(EventCopy.prototype, 'append').mockImplementationOnce(function (
      this: EventCopy,
      entry,
    ) {
      poison();
      return append.call(this, entry);
    });
    await here.paid(1);
    await here.paid(2);
    expect(await here.numbers(cursor, 2)).toEqual([1, 2]);
  },
);

/** Starts a broker, and a process with an open stream on it. */
async function streaming(make: Keeping[1], start: Keeping[2]) {
  const broker = await places.started(start());
  const { port } = broker;
  const there = places.on(make, port);
  const stream = await there.stream();
  await stream.next();
  return { broker, port, stream, there };
}

type Keeping = (typeof KEEPING)[number];
