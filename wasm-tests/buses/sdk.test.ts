import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { afterEach, expect, test, vi } from 'vitest';
import { WireStream } from '../host/listen.ts';
import { listenRequest, TOOLS } from '../node/serving.ts';
import { type BrokerProcess, startNats, startRedis } from './broker-process.ts';
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
  '%s carries the events of handlers of the official SDK as they stand',
  async (_, start, make) => {
    const url = await start();
    const [here, there] = [make(url), make(url)].map((bus) =>
      cleanup.later(bus, (it) => it.close()),
    );
    if (here === undefined || there === undefined) throw new Error('two were made');
    await there.ready();
    const stream = await opened(there);
    createMcpHandler(notebook, { bus: here }).notify.toolsChanged();
    expect(await stream.message()).toContain('notifications/tools/list_changed');
    stream.drop();
  },
);

test('a handler of the SDK hears of its lists when nobody can tell what it missed, and onError of the rest', async () => {
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
  const told = onError.mock.calls.map(([error]) => error.message);
  expect(told).toEqual(['the broker of the bus is away', 'listeners may have missed events']);
  stream.drop();
});

/** A stream of the SDK's own handler, acknowledged. */
async function opened(bus: ProcessBus): Promise<WireStream> {
  const abort = new AbortController();
  const response = await createMcpHandler(notebook, { bus }).fetch(
    listenRequest(TOOLS, { signal: abort.signal }),
  );
  const stream = new WireStream(response, abort);
  expect(await stream.message()).toContain('acknowledged');
  return stream;
}

async function redisServer(): Promise<BrokerProcess> {
  return cleanup.later(await startRedis(), (it) => it.stop());
}

async function natsServer(): Promise<BrokerProcess> {
  return cleanup.later(await startNats(true), (it) => it.stop());
}

function notebook(): McpServer {
  const capabilities = { tools: { listChanged: true } };
  return new McpServer({ name: 'notebook', version: '1.0.0' }, { capabilities });
}
