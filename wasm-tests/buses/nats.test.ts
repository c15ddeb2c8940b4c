import { cp, rm } from 'node:fs/promises';
import { queryObjects } from 'node:v8';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { ServerEvent } from 'mcp-listen';
import { type NatsBusOptions, natsBus, type ProcessBus } from 'mcp-listen/nats';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { NatsBroker } from '../../dist/brokers/nats/broker.js';
import { NatsConnectionManager } from '../../dist/brokers/nats/connection.js';
import { LegacySession } from '../host/legacy.ts';
import { listChanged, updated } from '../host/listen.ts';
import { sessionServer } from '../node/sessions/serving.ts';
import { type BrokerProcess, RIGHTS, startNats } from './brokers/broker-process.ts';
import { BrokerProxy } from './brokers/broker-proxy.ts';
import { Cleanup } from './cleanup.ts';
import { placeOn } from './members/place.ts';

const cleanup = new Cleanup();
const FILTER = {
  toolsListChanged: true,
  resourceSubscriptions: ['note://a', 'note://b', 'note://c'],
};

const LISTENER = { onEvents() {}, onGap() {}, onReady() {} };

afterEach(() => cleanup.run());

describe('with JetStream', () => {
  test('a server that kept its log replays it, without a gap', async () => {
    const nats = await started(true);
    const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
    const [here, there] = [busAt(nats.port), busAt(proxy.port)];
    const stream = await placeOn(there).open(FILTER);
    await stream.message();
    proxy.shut();
    await expect.poll(() => there.stats().isLive).toBe(false);
    for (const note of ['c', 'a', 'b']) await here.publish(changed(`note://${note}`));
    await nats.kill();
    await nats.start();
    proxy.open();
    for (const note of ['c', 'a', 'b'])
      expect(await stream.message()).toBe(updated('1', `note://${note}`));
    await expect
      .poll(() => there.stats())
      .toEqual({ isLive: true, outages: 1, gaps: 0, dropped: 0 });
  });

  test('an absence that outlasts the window is a gap', async () => {
    const nats = await started(true);
    const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
    const [here, there] = [
      busAt(nats.port, { logEvents: 10 }),
      busAt(proxy.port, { logEvents: 10 }),
    ];
    const stream = await placeOn(there).open({ toolsListChanged: true });
    await stream.message();
    proxy.shut();
    await expect.poll(() => there.stats().isLive).toBe(false);
    for (let count = 0; count < 50; count += 1) await here.publish(changed(`note://${count}`));
    proxy.open();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(there.stats()).toMatchObject({ gaps: 1, outages: 1 });
  });

  test('an event that was deleted from the log is a gap', async () => {
    const nats = await started(true);
    const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
    const [here, there] = [busAt(nats.port), busAt(proxy.port)];
    const stream = await placeOn(there).open({ toolsListChanged: true });
    await stream.message();
    proxy.shut();
    await expect.poll(() => there.stats().isLive).toBe(false);
    await here.publish(changed('note://a'));
    await here.publish({ kind: 'tools_list_changed' });
    await here.publish(changed('note://b'));
    const manager = await jetstreamManager(await client(nats.port));
    const { state } = await manager.streams.info('mcp-listen');
    await manager.streams.deleteMessage('mcp-listen', state.last_seq - 1);
    proxy.open();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(there.stats()).toMatchObject({ gaps: 1, outages: 1 });
  });
});

describe('a JetStream log that changed during an absence', () => {
  test('is a gap if it was restored from a backup, and has used its numbers again', async () => {
    const nats = await started(true);
    const publish = async (...notes: string[]): Promise<void> => {
      const bus = busAt(nats.port);
      for (const note of notes) await bus.publish(changed(`note://${note}`));
    };
    await publish('a', 'b');
    await nats.kill();
    const backup = cleanup.later(`${nats.folder}-backup`, (it) => rm(it, { recursive: true }));
    await cp(nats.folder, backup, { recursive: true });
    await nats.start();
    const { proxy, stream, there } = await follower(nats);
    await publish('a', 'b');
    for (const note of ['a', 'b'])
      expect(await stream.message()).toBe(updated('1', `note://${note}`));
    await cut(proxy, there);
    await nats.kill();
    await nats.forget();
    await cp(backup, nats.folder, { recursive: true });
    await nats.start();
    await publish('a', 'b', 'c');
    proxy.open();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(there.stats()).toMatchObject({ gaps: 1, outages: 1 });
  });

  test.each([
    ['a short absence', 0, 600_000, updated('1', 'note://b')],
    ['an absence as long as the window', 3_000, 2_500, listChanged('1', 'tools')],
  ])('no longer has the last message, after %s', async (_, absence, logAgeMs, first) => {
    const nats = await started(true);
    const { proxy, stream, there } = await follower(nats, { logAgeMs });
    const here = busAt(nats.port);
    await here.publish(changed('note://a'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    await cut(proxy, there);
    await new Promise((resolve) => setTimeout(resolve, absence));
    const manager = await jetstreamManager(await client(nats.port));
    await manager.streams.purge('mcp-listen');
    await here.publish(changed('note://b'));
    proxy.open();
    expect(await stream.message()).toBe(first);
  });
});

test.each([true, false])('publishes leave nothing behind; with JetStream: %s', async (hasIt) => {
  const nats = await started(hasIt);
  const bus = busAt(nats.port);
  const publishMany = async (): Promise<number> => {
    for (let count = 0; count < 500; count += 1) await bus.publish(changed('note://a'));
    return queryObjects(Promise, { format: 'count' });
  };
  const before = await publishMany();
  expect((await publishMany()) - before).toBeLessThan(100);
});

describe('the stream of JetStream', () => {
  test('is not changed where it exists already', async () => {
    const nats = await started(true);
    const manager = await jetstreamManager(await client(nats.port));
    await manager.streams.add({ name: 'mcp-listen', subjects: ['mcp-listen'], max_msgs: 7 });
    await busAt(nats.port).publish(changed('note://a'));
    const { config, state } = await manager.streams.info('mcp-listen');
    expect([config.max_msgs, state.messages]).toEqual([7, 1]);
  });

  test('is created again by the next publish where it was deleted', async () => {
    const nats = await started(true);
    const manager = await jetstreamManager(await client(nats.port));
    const bus = busAt(nats.port);
    await bus.publish(changed('note://a'));
    await manager.streams.delete('mcp-listen');
    await bus.publish(changed('note://a'));
    expect((await manager.streams.info('mcp-listen')).state.messages).toBe(1);
  });
});

describe('beside JetStream', () => {
  test('a connection that was given stays open', async () => {
    const nats = await started(true);
    const connection = await client(nats.port);
    const bus = cleanup.later(natsBus(connection, { onError: () => {} }), (it) => it.close());
    const stream = await placeOn(bus).open(FILTER);
    await stream.message();
    await bus.publish(changed('note://a'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    await bus.close();
    expect(connection.isClosed()).toBe(false);
    await connection.flush();
  });

  test('JetStream can be left unused', async () => {
    const nats = await started(true);
    const bus = busAt(nats.port, { jetStream: false });
    const stream = await placeOn(bus).open(FILTER);
    await stream.message();
    await bus.publish(changed('note://a'));
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    const manager = await jetstreamManager(await client(nats.port));
    await expect(manager.streams.info('mcp-listen')).rejects.toThrow('stream not found');
  });
});

describe('while the server is away', () => {
  test('a publish that times out keeps nothing until the server is back', async () => {
    const { broker, proxy } = await away();
    const publishMany = async (): Promise<number> => {
      const publishes = Array.from({ length: 500 }, () =>
        broker.publish('{"kind":"tools_list_changed"}', AbortSignal.timeout(100)),
      );
      for (const { status } of await Promise.allSettled(publishes)) expect(status).toBe('rejected');
      return queryObjects(Promise, { format: 'count' });
    };
    const before = await publishMany();
    expect((await publishMany()) - before).toBeLessThan(100);
    proxy.open();
    await broker.publish('{"kind":"tools_list_changed"}', AbortSignal.timeout(5_000));
  });

  test('a signal is sent within two seconds or not at all', async () => {
    const { broker, nats, proxy } = await away();
    const received: string[] = [];
    const connection = await client(nats.port);
    connection.subscribe('notebook.wanted', {
      callback: (_error, message) => void received.push(message.string()),
    });
    await connection.flush();
    const stale = broker.signal('stale').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const signal = () => broker.signal('recent').catch(() => {});
    const recent = signal();
    proxy.open();
    await Promise.all([stale, recent]);
    // Repeated: one whose connection comes too late is not sent either.
    await expect.poll(() => signal().then(() => received)).toContain('recent');
    expect(received).not.toContain('stale');
  });

  /** A broker whose connection was lost. */
  async function away() {
    const nats = await started(false);
    const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
    const connections = new NatsConnectionManager(
      { servers: `127.0.0.1:${proxy.port}` },
      'notebook',
    );
    const options = { logEvents: 1, logAgeMs: 1_000, jetStream: false, events: undefined };
    const broker = new NatsBroker(connections, 'notebook', options);
    cleanup.later(broker, (it) => it.close());
    await broker.signal('connected');
    const followed = broker.follow(LISTENER, new AbortController().signal);
    proxy.shut();
    await expect(followed).rejects.toThrow('lost');
    return { broker, nats, proxy };
  }
});

describe('without JetStream', () => {
  test('a publish fails where JetStream is required', async () => {
    const nats = await started(false);
    const bus = busAt(nats.port, { jetStream: true });
    await expect(bus.publish(changed('note://a'))).rejects.toMatchObject({
      code: 'bus-unavailable',
    });
  });

  test('the stream of a session is resynced after an absence', async () => {
    const nats = await started(false);
    const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
    const there = busAt(proxy.port);
    const { send } = sessionServer({ bus: there, onError: () => {} });
    await there.ready();
    const session = await LegacySession.begin(send);
    await session.ask('resources/subscribe', { uri: 'note://a' });
    const stream = await session.open();
    await stream.event();
    proxy.shut();
    await expect.poll(() => there.stats().isLive).toBe(false);
    proxy.open();
    const events = [await stream.event(), await stream.event(), await stream.event()].join();
    for (const change of ['tools/list_changed', 'resources/list_changed', 'resources/updated']) {
      expect(events).toContain(`notifications/${change}`);
    }
  });

  test('a connection that its owner has closed is reported', async () => {
    const nats = await started(false);
    const connection = await client(nats.port);
    const onError = vi.fn();
    const bus = cleanup.later(natsBus(connection, { onError }), (it) => it.close());
    await bus.ready();
    await connection.close();
    await expect.poll(() => onError.mock.calls.map(([error]) => error.code)).toEqual(['bus-lost']);
    await expect(bus.publish(changed('note://a'))).rejects.toMatchObject({
      code: 'bus-unavailable',
    });
  });
});

describe('a user without all rights', () => {
  async function busOf(user: string, options: NatsBusOptions = {}) {
    const { port } = cleanup.later(await startNats(false, RIGHTS), (it) => it.stop());
    const server = { servers: `127.0.0.1:${port}`, user, pass: user };
    const bus = natsBus(server, { bus: 'notebook', onError() {}, ...options });
    return cleanup.later(bus, (it) => it.close());
  }

  test('may not publish: each publish is refused', async () => {
    const bus = await busOf('reader');
    await bus.ready();
    const publish = () => bus.publish(changed('note://a'));
    const refusal = { code: 'bus-unavailable' };
    await expect(publish()).rejects.toMatchObject(refusal);
    for (const outcome of await Promise.allSettled([publish(), publish()]))
      expect(outcome).toMatchObject({ status: 'rejected', reason: refusal });
  });

  test('may not follow: the bus is not live, and says why', async () => {
    const onError = vi.fn();
    const bus = await busOf('writer', { onError });
    await bus.publish(changed('note://a'));
    bus.ready().catch(() => {});
    await expect.poll(() => onError.mock.calls.length).toBeGreaterThan(0);
    expect(String(onError.mock.calls[0]?.[0].cause)).toContain('Subscription to "notebook"');
    expect(bus.stats().isLive).toBe(false);
  });

  test.each([
    ['send', 'mute', 'Publish to "notebook.wanted"'],
    ['receive', 'deaf', 'Subscription to "notebook.wanted"'],
  ])('may not %s signals: that is reported once', async (_, user, cause) => {
    const onError = vi.fn();
    const bus = await busOf(user, { onError, wanted: {} });
    await bus.ready();
    await expect.poll(() => onError.mock.calls.length, { timeout: 10_000 }).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ code: 'bus-unavailable' })]]);
    expect(String(onError.mock.calls[0]?.[0].cause)).toContain(cause);
    await bus.publish(changed('note://a'));
  });
});

test.each(['a.b', 'a b', 'a*', '', 'a-events'])('the name %o is refused', (name) => {
  expect(() => natsBus('127.0.0.1:1', { bus: name })).toThrow(
    expect.objectContaining({ code: 'invalid-options' }),
  );
});

async function started(hasJetStream: boolean): Promise<BrokerProcess> {
  return cleanup.later(await startNats(hasJetStream), (it) => it.stop());
}

/** A bus that is connected through a proxy, and a stream on it. */
async function follower(nats: BrokerProcess, options: NatsBusOptions = {}) {
  const proxy = cleanup.later(await BrokerProxy.before(nats.port), (it) => it.stop());
  const there = busAt(proxy.port, options);
  const stream = await placeOn(there).open(FILTER);
  await stream.message();
  return { proxy, stream, there };
}

async function cut(proxy: BrokerProxy, there: ProcessBus): Promise<void> {
  proxy.shut();
  await expect.poll(() => there.stats().isLive).toBe(false);
}

async function client(port: number): Promise<NatsConnection> {
  return cleanup.later(await connect({ servers: `127.0.0.1:${port}` }), (it) => it.close());
}

function busAt(port: number, options: NatsBusOptions = {}): ProcessBus {
  const bus = natsBus({ servers: `127.0.0.1:${port}` }, { onError: () => {}, ...options });
  return cleanup.later(bus, (it) => it.close());
}

function changed(uri: string): ServerEvent {
  return { kind: 'resource_updated', uri };
}
