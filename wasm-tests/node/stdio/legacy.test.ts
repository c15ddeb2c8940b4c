import { type Broker, brokerBus, InMemoryBus, type WantedOptions } from 'mcp-listen';
import type { StdioListenOptions } from 'mcp-listen/node';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { initialize } from '../../host/legacy.ts';
import { declaring } from '../../host/options.ts';
import { LineReader } from '../../host/stdio.ts';
import { fed } from '../bus/fed-bus.ts';
import { PlainBus } from '../bus/plain-bus.ts';
import { connected } from './serving.ts';

test('a client of 2025 receives its lists and its resources, without a subscription id', async () => {
  const { client, server } = await begun();
  expect(await client.subscribe('note://a')).toBe(EMPTY);
  await server.notify.promptsChanged();
  await server.notify.resourceUpdated('note://b');
  await server.notify.resourceUpdated('note://a');
  await server.notify.toolsChanged();
  expect(await client.lines.next()).toBe(updated('note://a'));
  expect(await client.lines.next()).toBe(LIST);
  expect(await client.unsubscribe('note://a')).toBe(EMPTY);
  await server.notify.resourceUpdated('note://a');
  await server.notify.toolsChanged();
  expect(await client.lines.next()).toBe(LIST);
});

test('a client of 2025 receives events that others publish on the bus', async () => {
  const bus = new PlainBus();
  const { client } = await begun({ bus });
  await client.subscribe('note://a');
  bus.publish({ kind: 'resource_updated', uri: 'note://a' });
  expect(await client.lines.next()).toBe(updated('note://a'));
});

test('notifications of the upstream server pass, and so does its response to a subscribe', async () => {
  const { behind, client, replies } = await begun();
  client.send('resources/subscribe', { uri: 'note://a' });
  expect(await behind.next()).toContain('resources/subscribe');
  const own = '{"jsonrpc":"2.0", "id":7,"result":{"_meta":{"own":true}}}';
  replies.write(`${updated('note://z')}\n${own}\n${LIST}\n`);
  const lines = [await client.lines.next(), await client.lines.next(), await client.lines.next()];
  expect(lines.sort()).toEqual([own, updated('note://z'), LIST].sort());
});

test('given capabilities are in the response to initialize, which keeps its place among lines', async () => {
  const connection = connected({ server: declaring({ prompts: { listChanged: true } }) });
  const behind = new LineReader(connection.received);
  connection.send(JSON.stringify(initialize('2025-06-18')));
  await behind.next();
  connection.replies.write(`{"before":1}\n${AGREED}\n{"after":1}\n`);
  expect(await connection.lines.next()).toBe('{"before":1}');
  const { result } = JSON.parse((await connection.lines.next()) ?? '');
  expect(result).toMatchObject({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, prompts: { listChanged: true } },
  });
  expect(await connection.lines.next()).toBe('{"after":1}');
  connection.send(INITIALIZED);
  await connection.server.notify.toolsChanged();
  await connection.server.notify.promptsChanged();
  expect(await connection.lines.next()).toBe(LIST.replace('tools', 'prompts'));
});

test('capabilities come from the response to initialize, without server/discover', async () => {
  const { behind, client } = await begun();
  client.send('tools/list');
  expect(await behind.next()).toContain('tools/list');
});

test('a gap of the bus is a resync', async () => {
  const { bus, feeds } = fed();
  const { client, server } = await begun({ bus });
  await client.subscribe('note://a');
  for (const feed of feeds) feed.gap();
  expect([await client.lines.next(), await client.lines.next()].sort()).toEqual([
    updated('note://a'),
    LIST,
  ]);
  await server.notify.resourceUpdated('note://a');
  expect(await client.lines.next()).toBe(updated('note://a'));
  expect(bus.attached).toBe(2);
});

test('authorize is called for the lists, and for each resource', async () => {
  const asked = vi.fn();
  const authorize: StdioListenOptions['authorize'] = ({ requested }) => {
    asked(requested);
    if (requested.resourceSubscriptions?.includes('note://denied')) return { denied: 403 };
    return { resourceSubscriptions: ['note://mine'] };
  };
  const { client, server } = await begun({ authorize });
  expect(await client.subscribe('note://yours')).toBe(EMPTY);
  expect(await client.subscribe('note://mine')).toBe(EMPTY);
  expect(await client.subscribe('note://denied')).toContain('"id":7,"error":{"code":-32600');
  await server.notify.toolsChanged();
  await server.notify.resourceUpdated('note://yours');
  await server.notify.resourceUpdated('note://mine');
  expect(await client.lines.next()).toBe(updated('note://mine'));
  expect(asked.mock.calls.flat()).toEqual([
    { toolsListChanged: true },
    ...['note://yours', 'note://mine', 'note://denied'].map((uri) => ({
      resourceSubscriptions: [uri],
    })),
  ]);
});

test('what a client of 2025 subscribes to is wanted until it unsubscribes', async () => {
  const calls: string[] = [];
  const bus = new InMemoryBus({
    wanted: {
      unwantedMs: 0,
      onWanted: (topic) => void calls.push('uri' in topic ? `+${topic.uri}` : `+${topic.kind}`),
      onUnwanted: (topic) => void calls.push('uri' in topic ? `-${topic.uri}` : `-${topic.kind}`),
    },
  });
  const { client } = await begun({ bus });
  await client.subscribe('note://a');
  expect(calls).toEqual(['+tools_list_changed', '+note://a']);
  await client.unsubscribe('note://a');
  await expect.poll(() => calls.slice(2)).toEqual(['-note://a']);
});

test('close writes pending cues, and leaves the bus', async () => {
  const { bus, client, server } = await begun();
  await client.subscribe('note://a');
  expect(bus.attached).toBe(2);
  await server.notify.resourceUpdated('note://a');
  await server.close();
  expect(await client.lines.next()).toBe(updated('note://a'));
  expect(bus.attached).toBe(0);
});

describe('the lists of a client of 2025', () => {
  afterEach(() => void vi.useRealTimers());

  test('are received if the broker is not available at the start, and cued then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { promise, resolve } = Promise.withResolvers<void>();
    const { bus, deliver } = brokered(promise);
    const { client, onError } = await begun({ bus });
    await vi.advanceTimersByTimeAsync(60_000);
    resolve();
    expect(await client.lines.next()).toBe(LIST);
    deliver('{"kind":"tools_list_changed"}');
    expect(await client.lines.next()).toBe(LIST);
    expect(onError).not.toHaveBeenCalled();
  });

  test.each(['throws', 'cannot decide'])(
    'are authorized again if authorize %s',
    async (failure) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const authorize = vi.fn<NonNullable<StdioListenOptions['authorize']>>(
        (asked) => asked.requested,
      );
      if (failure === 'throws') authorize.mockRejectedValueOnce(new Error('not now'));
      else authorize.mockReturnValueOnce({ denied: 503 });
      const { client, server } = await begun({ authorize });
      await server.notify.toolsChanged();
      await vi.advanceTimersByTimeAsync(RETRY_MS);
      expect(await client.lines.next()).toBe(LIST);
      await server.notify.toolsChanged();
      expect(await client.lines.next()).toBe(LIST);
      await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
      expect(authorize).toHaveBeenCalledTimes(2);
    },
  );

  test('are requested again if the bus fails', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { bus } = fed();
    vi.mocked(bus.subscribeAll).mockImplementationOnce(() => {
      throw new Error('no bus');
    });
    const { client, onError } = await begun({ bus });
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(await client.lines.next()).toBe(LIST);
    expect(onError).toHaveBeenCalledOnce();
  });

  test('are not requested again once authorize has denied them', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const authorize = vi.fn(() => ({ denied: 403 }) as const);
    await begun({ authorize });
    await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
    expect(authorize).toHaveBeenCalledOnce();
  });

  test('keep no process alive after the end of the input', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { onError, stdin } = await begun({ authorize: () => Promise.reject(new Error('no')) });
    await expect.poll(() => onError).toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(1);
    stdin.end();
    await expect.poll(() => vi.getTimerCount()).toBe(0);
  });
});

describe('the lists of a client of 2025 for which the hook of the bus', () => {
  afterEach(() => void vi.useRealTimers());

  test('throws are wanted again, while the others are received', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, server } = await begun({ bus: failingFor('prompts_list_changed') }, BOTH);
    await vi.advanceTimersByTimeAsync(10);
    await server.notify.promptsChanged();
    await server.notify.toolsChanged();
    expect(await client.lines.next()).toBe(LIST);
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect([await client.lines.next(), await client.lines.next()].sort()).toEqual([PROMPTS, LIST]);
    await server.notify.promptsChanged();
    expect(await client.lines.next()).toBe(PROMPTS);
  });

  test('throws are wanted again if there are no others', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const bus = failingFor('tools_list_changed');
    const { client, server } = await begun({ bus });
    await vi.advanceTimersByTimeAsync(RETRY_MS + 10);
    expect(await client.lines.next()).toBe(LIST);
    await server.notify.toolsChanged();
    expect(await client.lines.next()).toBe(LIST);
  });

  test('returns false are not wanted again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const onWanted = vi.fn(() => false);
    await begun({ bus: new InMemoryBus({ wanted: { onWanted } }) });
    await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
    expect(onWanted).toHaveBeenCalledOnce();
  });
});

/** A bus whose hook throws when it is first called for a list. */
function failingFor(list: string): InMemoryBus {
  let hasThrown = false;
  const onWanted: WantedOptions['onWanted'] = ({ kind }) => {
    if (kind !== list || hasThrown) return;
    hasThrown = true;
    throw new Error('not now');
  };
  return new InMemoryBus({ onError: () => {}, wanted: { onWanted } });
}

/** A bus whose broker is available once `connected` resolves. */
function brokered(connected: Promise<void>) {
  let deliver: (events: string) => void = () => {};
  const broker: Broker = {
    async follow(listener) {
      await connected;
      deliver = (events) => listener.onEvents(events);
      listener.onReady({ isContiguous: true });
      await new Promise(() => {});
    },
    publish: async () => {},
    close: async () => {},
  };
  return { bus: brokerBus(broker), deliver: (events: string) => deliver(events) };
}

/**
 * A session up to `notifications/initialized`. The test is the upstream server too, which supports
 * no subscriptions.
 */
async function begun(options: StdioListenOptions = {}, agreed = AGREED) {
  const connection = connected(options, {});
  const behind = new LineReader(connection.received);
  const { lines, replies } = connection;
  connection.send(JSON.stringify(initialize('2025-06-18')));
  await behind.next();
  replies.write(`${agreed}\n`);
  expect(await lines.next()).toBe(agreed);
  connection.send(INITIALIZED);
  await behind.next();
  const send = (method: string, params: object = {}) =>
    connection.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
  const ask = (method: string) => async (uri: string) => {
    send(method, { uri });
    await behind.next();
    replies.write(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}\n',
    );
    return lines.next();
  };
  const client = {
    lines,
    send,
    subscribe: ask('resources/subscribe'),
    unsubscribe: ask('resources/unsubscribe'),
  };
  return { ...connection, behind, client };
}

function updated(uri: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
}

const AGREED =
  '{"jsonrpc":"2.0","id":1, "result":{"protocolVersion":"2025-06-18",' +
  '"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},' +
  '"serverInfo":{"name":"n","version":"1"}}}';
const BOTH = AGREED.replace('"tools"', '"prompts":{"listChanged":true},"tools"');
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const EMPTY = '{"jsonrpc":"2.0","id":7,"result":{}}';
const LIST = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const PROMPTS = LIST.replace('tools', 'prompts');
/** Milliseconds after which lists that could not be requested are requested again. */
const RETRY_MS = 5_000;
