import { createMcpHandler } from '@modelcontextprotocol/server';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { afterEach, expect, test, vi } from 'vitest';
import type { WireStream } from '../host/listen.ts';
import { notebook } from '../node/sdk/notebook.ts';
import { open, TOOLS } from '../node/serving.ts';
import { type BrokerProcess, startNats, startRedis } from './brokers/broker-process.ts';
import { Cleanup } from './cleanup.ts';

const cleanup = new Cleanup();
const QUIET = { onError: () => {} };

afterEach(() => cleanup.run());

const BUSES: [name: string, url: () => Promise<string>, make: (url: string) => ProcessBus][] = [
  [
    'redisBus',
    async () => `redis://127.0.0.1:${(await redisServer()).port}`,
    (url) => redisBus(url, QUIET),
  ],
  [
    'natsBus',
    async () => `nats://127.0.0.1:${(await natsServer()).port}`,
    (url) => natsBus(url, QUIET),
  ],
  ['broadcastChannelBus', async () => '', () => broadcastChannelBus(QUIET)],
];

test.each(BUSES)(
  '%s carries the events of handlers of the official SDK unchanged',
  async (_, start, make) => {
    const url = await start();
    const [here, there] = [make(url), make(url)].map((bus) =>
      cleanup.later(bus, (it) => it.close()),
    );
    if (here === undefined || there === undefined) throw new Error('two were made');
    await there.ready();
    const stream = await opened(there);
    createMcpHandler(() => notebook(), { bus: here }).notify.toolsChanged();
    expect(await stream.message()).toContain('notifications/tools/list_changed');
    stream.drop();
  },
);

test('after a gap a handler of the SDK is cued for its lists, and the rest is reported', async () => {
  const broker = await redisServer();
  const onError = vi.fn();
  const bus = cleanup.later(redisBus(`redis://127.0.0.1:${broker.port}`, { onError }), (it) =>
    it.close(),
  );
  await bus.ready();
  const stream = await opened(bus);
  await broker.kill();
  await expect.poll(() => bus.stats().isLive).toBe(false);
  await broker.start();
  expect(await stream.message()).toContain('notifications/tools/list_changed');
  const reported = onError.mock.calls.map(([error]) => error.message);
  expect(reported).toEqual([
    'the broker of the bus is unavailable',
    'listeners may have missed events',
  ]);
  stream.drop();
});

/** An acknowledged stream of a handler of the SDK. */
async function opened(bus: ProcessBus): Promise<WireStream> {
  const stream = await open(
    createMcpHandler(() => notebook(), { bus }),
    TOOLS,
  );
  expect(await stream.message()).toContain('acknowledged');
  return stream;
}

async function redisServer(): Promise<BrokerProcess> {
  return cleanup.later(await startRedis(), (it) => it.stop());
}

async function natsServer(): Promise<BrokerProcess> {
  return cleanup.later(await startNats(true), (it) => it.stop());
}
