import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterEach, expect, test } from 'vitest';
import { startNats, startRedis } from '../brokers/broker-process.ts';
import { Cleanup } from '../cleanup.ts';
import { jetStream, KEEPING, Places, redis } from './places.ts';

const cleanup = new Cleanup();
const places = new Places(cleanup);

afterEach(() => cleanup.run());

test.each(KEEPING)(
  '%s: what has left the window is truncated, also for a process that starts later',
  async (_name, make, start) => {
    const { port } = await places.started(start());
    const log = { logBytes: 4_000 };
    const here = places.on(make, port, log);
    const { cursor } = await here.poll();
    for (let number = 0; number < 100; number += 1) await here.paid(number);
    for (const at of [here, places.on(make, port, log)]) {
      const { cursor: oldest, truncated } = await at.poll(cursor);
      expect(truncated).toBe(true);
      const held = async () => (await at.poll(oldest)).events;
      await expect.poll(async () => (await held()).at(-1)).toMatchObject({ eventId: '99' });
      expect((await held()).length).toBeLessThan(50);
    }
  },
);

test('Redis notes what it removed of each name: a busy one truncates no cursor of a quiet one', async () => {
  const { port } = await places.started(startRedis());
  const here = places.on(redis, port, { logBytes: 4_000 });
  await here.bus.emit('sent', { number: 0 });
  const { cursor } = await here.poll(null, 'sent');
  for (let number = 0; number < 100; number += 1) await here.paid(number);
  const later = places.on(redis, port, { logBytes: 4_000 });
  expect(await later.poll(cursor, 'sent')).toMatchObject({ events: [], truncated: false });
  expect((await later.poll(cursor)).truncated).toBe(true);
});

test('Redis keeps an occurrence that is larger than the window until the next one', async () => {
  const { port } = await places.started(startRedis());
  const onSmallWindow = () => places.on(redis, port, { logBytes: 1 });
  const here = onSmallWindow();
  const { cursor } = await here.poll();
  await here.paid(1);
  expect((await onSmallWindow().poll(cursor)).events).toMatchObject([{ eventId: '1' }]);
  await here.paid(2);
  const later = onSmallWindow();
  const { cursor: oldest, truncated } = await later.poll(cursor);
  expect(truncated).toBe(true);
  expect((await later.poll(oldest)).events).toMatchObject([{ eventId: '2' }]);
});

test('entries that were deleted from a stream of JetStream truncate what precedes them', async () => {
  const { port } = await places.started(startNats(true));
  const here = places.on(jetStream, port);
  const { cursor } = await here.poll();
  for (const number of [1, 2, 3]) await here.paid(number);
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await jetstreamManager(connection);
  await manager.streams.deleteMessage('mcp-listen-events', 2);
  await connection.close();
  const later = places.on(jetStream, port);
  const polled = await later.poll(cursor);
  expect(polled).toMatchObject({ truncated: true });
  expect(await later.numbers(polled.cursor, 1)).toEqual([3]);
});
