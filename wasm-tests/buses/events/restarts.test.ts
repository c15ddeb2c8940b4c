import { createClient } from 'redis';
import { afterEach, expect, test } from 'vitest';
import { startRedis } from '../brokers/broker-process.ts';
import { Cleanup } from '../cleanup.ts';
import { eventsOf, KEEPING, Places, redis } from './places.ts';

const cleanup = new Cleanup();
const places = new Places(cleanup);

afterEach(() => cleanup.run());

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
