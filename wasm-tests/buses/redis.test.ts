import { Cluster, Redis } from 'ioredis';
import type { ServerEvent } from 'mcp-listen';
import { type ProcessBus, type RedisClient, redisBus } from 'mcp-listen/redis';
import { createClient } from 'redis';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { listChanged, updated } from '../host/listen.ts';
import { type BrokerProcess, startRedis } from './brokers/broker-process.ts';
import { BrokerProxy } from './brokers/broker-proxy.ts';
import { Cleanup } from './cleanup.ts';
import { placeOn } from './members/place.ts';

const cleanup = new Cleanup();
const CLIENTS: [name: string, at: (url: string) => string | RedisClient][] = [
  ['redis', (url) => url],
  ['ioredis', (url) => new Redis(url, { lazyConnect: true })],
];
/** The command by which a bus asks which server it has. */
const INFO = /\r\nINFO\r\n\$6\r\nserver\r\n/;

afterEach(() => cleanup.run());

test('an absence that outlasts the window is a gap', async () => {
  const redis = await started();
  const proxy = cleanup.later(await BrokerProxy.before(redis.port), (it) => it.stop());
  const [here, there] = [
    busAt(redis.port, { logEvents: 100 }),
    busAt(proxy.port, { logEvents: 100 }),
  ];
  const stream = await placeOn(there).open({
    toolsListChanged: true,
    resourceSubscriptions: ['note://a'],
  });
  await stream.message();
  proxy.shut();
  await expect.poll(() => there.stats().isLive).toBe(false);
  for (let count = 0; count < 500; count += 1) await here.publish(changed(`note://${count}`));
  proxy.open();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(there.stats()).toMatchObject({ gaps: 1, outages: 1 });
});

test('a Redis that kept its log replays it, and reports a gap for what it may have lost', async () => {
  const redis = await started(true);
  const proxy = cleanup.later(await BrokerProxy.before(redis.port), (it) => it.stop());
  const [here, there] = [busAt(redis.port), busAt(proxy.port)];
  const received = listener(there);
  await there.ready();
  await here.publish(changed('note://first'));
  await expect.poll(() => received.map(nameOf)).toContain('note://first');
  proxy.shut();
  await expect.poll(() => there.stats().isLive).toBe(false);
  for (const note of ['c', 'a', 'b']) await here.publish(changed(`note://${note}`));
  await redis.kill();
  await redis.start();
  received.length = 0;
  proxy.open();
  await expect
    .poll(() => received.filter(({ kind }) => kind === 'resource_updated').map(nameOf))
    .toEqual(['note://c', 'note://a', 'note://b']);
  expect(there.stats()).toMatchObject({ gaps: 1, outages: 1 });
});

test('a log that is wiped while it is followed is a gap', async () => {
  const { administer, here, stream, there } = await following();
  await administer(['FLUSHALL']);
  await here.publish({ kind: 'tools_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(there.stats()).toMatchObject({ gaps: 1, outages: 0 });
});

test('a reader whose connection is killed by the server resumes where it was', async () => {
  const { administer, here, stream, there } = await following();
  await administer(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  await expect
    .poll(() =>
      here.publish(changed('note://a')).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await expect.poll(() => there.stats()).toEqual({ isLive: true, outages: 1, gaps: 0, dropped: 0 });
});

test('a given client provides its settings, and is neither connected nor closed', async () => {
  const redis = await started(false, ['--requirepass', 'secret']);
  const url = urlOf(redis.port);
  const client = cleanup.later(createClient({ url, password: 'secret', RESP: 2 }), (it) =>
    it.destroy(),
  );
  const bus = cleanup.later(redisBus(client), (it) => it.close());
  const received = listener(bus);
  await bus.ready();
  await bus.publish(changed('note://a'));
  await expect.poll(() => received.map(nameOf)).toContain('note://a');
  expect(client.isOpen).toBe(false);
  await client.connect();
  await bus.close();
  expect(await client.ping()).toBe('PONG');
});

test('a given client of ioredis provides its settings, and is neither connected nor closed', async () => {
  const redis = await started(false, ['--requirepass', 'secret']);
  const settings = { password: 'secret', lazyConnect: true, keyPrefix: 'app:', commandTimeout: 50 };
  const client = cleanup.later(new Redis(redis.port, settings), (it) => it.disconnect());
  const bus = cleanup.later(redisBus(client), (it) => it.close());
  const other = busAt(redis.port, {}, ':secret@');
  const received = listener(other);
  await Promise.all([bus.ready(), other.ready()]);
  received.length = 0;
  await bus.publish(changed('note://a'));
  await expect.poll(() => received.map(nameOf)).toEqual(['note://a']);
  expect(client.status).toBe('wait');
  // It is for the bus to ignore. This connection may be as slow as the machine.
  client.options.commandTimeout = 20_000;
  await client.connect();
  await bus.close();
  expect(await client.ping()).toBe('PONG');
});

test('the client of a cluster, whose settings are not those of one server, is refused', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(() => redisBus(cluster as never)).toThrow('the client of a cluster');
});

describe.each(CLIENTS)('with the client %s', (_, at) => {
  test('without the right to INFO, every loss of the connection is a gap', async () => {
    const redis = await started();
    const admin = cleanup.later(createClient({ url: urlOf(redis.port) }), (it) => it.destroy());
    await admin.connect();
    const rights = ['~*', '&*', '+@all', '-info'];
    await admin.sendCommand(['ACL', 'SETUSER', 'bus', 'on', '>secret', ...rights]);
    const bus = busOn(at(urlOf(redis.port, 'bus:secret@')));
    await bus.publish({ kind: 'tools_list_changed' });
    await bus.ready();
    await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    await expect.poll(() => bus.stats()).toMatchObject({ isLive: true, outages: 1, gaps: 1 });
  });

  test('a connection that is lost while it asks which server it has is opened again, without a gap', async () => {
    const redis = await started();
    const proxy = cleanup.later(await BrokerProxy.before(redis.port), (it) => it.stop());
    const [here, there] = [busAt(redis.port), busOn(at(urlOf(proxy.port)))];
    const received = listener(there);
    await there.ready();
    await here.publish(changed('note://first'));
    await expect.poll(() => received.map(nameOf)).toContain('note://first');
    received.length = 0;
    proxy.shut();
    await expect.poll(() => there.stats().isLive).toBe(false);
    const cut = proxy.cutAt(INFO);
    proxy.open();
    await cut;
    await here.publish(changed('note://a'));
    await expect.poll(() => received.map(nameOf)).toEqual(['note://a']);
    expect(there.stats()).toEqual({ isLive: true, outages: 1, gaps: 0, dropped: 0 });
  });

  test('a publish whose connection is lost rejects at once, and the next one is sent', async () => {
    const redis = await started();
    const proxy = cleanup.later(await BrokerProxy.before(redis.port), (it) => it.stop());
    const bus = busOn(at(urlOf(proxy.port)));
    await bus.publish(changed('note://a'));
    const cut = proxy.cutAt(/note:\/\/lost/);
    const outcome = bus.publish(changed('note://lost')).catch((error) => error);
    await cut;
    const { cause, code } = await outcome;
    expect(code).toBe('bus-unavailable');
    expect(cause.message).not.toContain('in time');
    await bus.publish(changed('note://b'));
  });
});

test('a Redis that is not running is reported once, and used once it runs', async () => {
  const redis = await started();
  await redis.kill();
  const onError = vi.fn();
  const bus = busAt(redis.port, { onError });
  const ready = bus.ready();
  await expect(bus.publish({ kind: 'tools_list_changed' })).rejects.toMatchObject({
    code: 'bus-unavailable',
  });
  expect(onError.mock.calls.map(([error]) => error.code).toSorted()).toEqual([
    'bus-lost',
    'bus-unavailable',
  ]);
  await redis.start();
  await ready;
  await bus.publish({ kind: 'tools_list_changed' });
  expect(bus.stats()).toEqual({ isLive: true, outages: 0, gaps: 0, dropped: 0 });
});

test('buses with different names receive nothing of each other', async () => {
  const redis = await started();
  const [one, other] = [busAt(redis.port, { bus: 'one' }), busAt(redis.port, { bus: 'other' })];
  const received = listener(other);
  await Promise.all([one.ready(), other.ready()]);
  received.length = 0;
  await one.publish(changed('note://one'));
  await other.publish(changed('note://other'));
  await expect.poll(() => received.map(nameOf)).toEqual(['note://other']);
});

async function started(isKept = false, more: string[] = []): Promise<BrokerProcess> {
  return cleanup.later(await startRedis(isKept, more), (it) => it.stop());
}

/**
 * A stream on one of two buses that has received what the other published, and a function that
 * sends commands to the broker behind them.
 */
async function following() {
  const redis = await started();
  const [here, there] = [busAt(redis.port), busAt(redis.port)];
  const stream = await placeOn(there).open({
    toolsListChanged: true,
    resourceSubscriptions: ['note://a'],
  });
  await stream.message();
  await here.publish({ kind: 'tools_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  const administer = async (command: string[]): Promise<void> => {
    const admin = createClient({ url: urlOf(redis.port) });
    await admin.connect();
    await admin.sendCommand(command);
    await admin.close();
  };
  return { administer, here, stream, there };
}

function busAt(port: number, options = {}, credentials = ''): ProcessBus {
  return busOn(urlOf(port, credentials), options);
}

function busOn(server: string | RedisClient, options = {}): ProcessBus {
  const bus = redisBus(server, { onError: () => {}, ...options });
  return cleanup.later(bus, (it) => it.close());
}

function urlOf(port: number, credentials = ''): string {
  return `redis://${credentials}127.0.0.1:${port}`;
}

/** The events that a listener receives. */
function listener(bus: ProcessBus): ServerEvent[] {
  const received: ServerEvent[] = [];
  bus.subscribe((event: ServerEvent) => received.push(event));
  return received;
}

function nameOf(event: ServerEvent): string {
  return event.kind === 'resource_updated' ? event.uri : event.kind;
}

function changed(uri: string): ServerEvent {
  return { kind: 'resource_updated', uri };
}
