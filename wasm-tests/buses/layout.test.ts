import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { eventLog } from 'mcp-listen/events';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { createClient } from 'redis';
import { afterEach, expect, test } from 'vitest';
import messages from '../corpus/brokers/messages.json' with { type: 'json' };
import occurrences from '../corpus/brokers/occurrences.json' with { type: 'json' };
import places from '../corpus/brokers/places.json' with { type: 'json' };
import { startNats, startRedis } from './brokers/broker-process.ts';
import { Cleanup } from './cleanup.ts';

const cleanup = new Cleanup();
const OPTIONS = { bus: places.bus, onError: () => {} };

afterEach(() => cleanup.run());

test('Redis has each change and each occurrence as the corpus says', async () => {
  const { port } = cleanup.later(await startRedis(), (it) => it.stop());
  const url = `redis://127.0.0.1:${port}`;
  const events = eventLog({ logBytes: occurrences[1]?.text.length ?? 0 });
  await publishAll(redisBus(url, { ...OPTIONS, events }));
  const redis = cleanup.later(createClient({ url }), (it) => it.destroy());
  await redis.connect();
  const { counter, log, state, stream, trimmed } = places.redis;
  const entries = await redis.xRange(stream, '-', '+');
  expect(entries?.map(({ message }) => Object.entries(message))).toEqual(
    messages.map(({ text }, index) => [
      ['number', `${index + 1}`],
      ['events', text],
    ]),
  );
  expect(await redis.get(counter)).toBe(`${messages.length}`);
  // The window has room for the last occurrence only: the other one was removed.
  const kept = await redis.xRange(log, '-', '+');
  const { event = '', text = '' } = occurrences[1] ?? {};
  expect(kept?.map(({ message }) => Object.entries(message))).toEqual([
    [
      ['number', '2'],
      ['name', event],
      ['event', text],
    ],
  ]);
  expect(await redis.hGetAll(state)).toMatchObject({ number: '2', bytes: `${text.length}` });
  expect(await redis.hGetAll(trimmed)).toEqual({ [occurrences[0]?.event ?? '']: '1' });
  expect((await redis.keys('*')).toSorted()).toEqual(Object.values(places.redis).toSorted());
});

test('JetStream has each change and each occurrence as the corpus says', async () => {
  const { port } = cleanup.later(await startNats(true), (it) => it.stop());
  await publishAll(natsBus(`nats://127.0.0.1:${port}`, { ...OPTIONS, events: eventLog() }));
  const connection = cleanup.later(await connect({ servers: `127.0.0.1:${port}` }), (it) =>
    it.close(),
  );
  const { streams } = await jetstreamManager(connection);
  for (const [name, texts] of [
    [places.nats.subject, messages.map(({ text }) => text)],
    [places.nats.log, occurrences.map(({ text }) => text)],
  ] as const) {
    const { config, state } = await streams.info(name);
    expect(config.subjects).toEqual([name]);
    expect(state).toMatchObject({ first_seq: 1, last_seq: texts.length });
    for (const [index, text] of texts.entries())
      expect((await streams.getMessage(name, { seq: index + 1 }))?.string()).toBe(text);
  }
});

test('NATS without JetStream carries each change and each occurrence as the corpus says', async () => {
  const { port } = cleanup.later(await startNats(false), (it) => it.stop());
  const connection = cleanup.later(await connect({ servers: `127.0.0.1:${port}` }), (it) =>
    it.close(),
  );
  const received: string[] = [];
  connection.subscribe(places.nats.subject, {
    callback: (_error, message) => void received.push(message.string()),
  });
  await connection.flush();
  const url = `nats://127.0.0.1:${port}`;
  await publishAll(natsBus(url, { ...OPTIONS, events: eventLog(), jetStream: false }));
  await connection.flush();
  expect(received).toEqual([...messages, ...occurrences].map(({ text }) => text));
});

test('signals are where the corpus says', async () => {
  const redis = cleanup.later(await startRedis(), (it) => it.stop());
  const nats = cleanup.later(await startNats(true), (it) => it.stop());
  const url = `redis://127.0.0.1:${redis.port}`;
  const client = cleanup.later(createClient({ url }), (it) => it.destroy());
  await client.connect();
  const connection = cleanup.later(await connect({ servers: `127.0.0.1:${nats.port}` }), (it) =>
    it.close(),
  );
  const received: string[] = [];
  connection.subscribe(places.signals.nats, {
    callback: (_error, message) => void received.push(message.string()),
  });
  await connection.flush();
  for (const bus of [
    redisBus(url, { ...OPTIONS, wanted: {} }),
    natsBus(`nats://127.0.0.1:${nats.port}`, { ...OPTIONS, wanted: {} }),
  ])
    await cleanup.later(bus, (it) => it.close()).ready();
  const asks = expect.stringMatching(/^\{"from":"[-0-9a-f]{36}","ask":""\}$/);
  await expect.poll(() => received[0]).toEqual(asks);
  await expect
    .poll(async () => (await client.xRange(places.signals.redis, '-', '+'))?.[0]?.message)
    .toEqual({ text: asks });
});

async function publishAll(bus: ProcessBus): Promise<void> {
  cleanup.later(bus, (it) => it.close());
  for (const { events } of messages) await bus.publishAll(events as never);
  for (const { data, event, options } of occurrences) await bus.emit(event, data, options);
}
