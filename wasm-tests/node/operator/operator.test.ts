import { McpServer } from '@modelcontextprotocol/server';
import {
  createOperatorHandler,
  InMemoryBus,
  type OperatorOptions,
  type Snapshot,
} from 'mcp-listen';
import { listenMiddleware } from 'mcp-listen/hono';
import { createMcpHandler } from 'mcp-listen/sdk';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { BusOperator } from '../../../dist/bus/operator/operator.js';
import { PublicStats } from '../../../dist/operator/public-stats.js';
import { restOf } from '../../host/listen.ts';
import { open, serving, TOOLS } from '../serving.ts';

test.each([
  ['GET', 'stats', undefined, 401],
  ['GET', 'stats', 'Bearer of-someone-else', 401],
  ['POST', 'operate', 'Bearer of-someone-else', 401],
  ['POST', 'stats', 'Bearer of-an-operator-1', 405],
  ['GET', 'operate', 'Bearer of-an-operator-1', 405],
])('%s %s with %s is %i', async (method, path, authorization, status) => {
  const { send } = operating();
  const headers = authorization === undefined ? {} : { authorization };
  expect((await send(path, { method, headers }))?.status).toBe(status);
});

test('without a token there is nothing, unless the numbers are public', async () => {
  const init = { headers: { authorization: 'Bearer undefined' } };
  const closed = operating({ token: undefined });
  for (const path of ['stats', 'operate', 'other'])
    expect(await closed.send(path, init)).toBeUndefined();
  const shown = operating({ token: undefined, isPublic: true });
  const stream = await open(shown.server, TOOLS);
  await stream.message();
  expect(await (await shown.send('stats?callers=1', init))?.json()).toMatchObject({
    streams: { open: 1 },
    topics: [],
    log: [],
  });
  expect(await shown.send('operate', { ...init, method: 'POST' })).toBeUndefined();
  stream.drop();
});

test('public numbers are for requests without a token: a wrong one is refused', async () => {
  const { send } = operating({ isPublic: true });
  expect((await send('stats'))?.status).toBe(200);
  const headers = { authorization: 'Bearer of-someone-else' };
  expect((await send('stats', { headers }))?.status).toBe(401);
});

test('public numbers are for requests with other credentials, of a proxy', async () => {
  const init = { headers: { authorization: 'Basic YW5uOnNlY3JldA==' } };
  expect((await operating({ isPublic: true }).send('stats', init))?.status).toBe(200);
  expect((await operating().send('stats', init))?.status).toBe(401);
});

test('the bus is asked for public numbers once a second at most', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { send, server } = operating({ token: undefined, isPublic: true });
  const openStreams = async () => {
    const shown = (await (await send('stats'))?.json()) as { streams: { open: number } };
    return shown.streams.open;
  };
  expect(await openStreams()).toBe(0);
  const stream = await open(server, TOOLS);
  await stream.message();
  expect(await openStreams()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(await openStreams()).toBe(1);
  stream.drop();
});

test('a bus that fails is asked for public numbers once a second at most, too', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const snapshot = vi.fn(async () => {
    throw new Error('away');
  });
  const stats = new PublicStats({ snapshot } as unknown as BusOperator);
  for (let round = 0; round < 3; round += 1) await expect(stats.next()).rejects.toThrow('away');
  expect(snapshot).toHaveBeenCalledTimes(1);
});

describe('while the bus replies to a question for public numbers', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => void vi.useRealTimers());

  test('no other question is asked, and all get the reply', async () => {
    const { reply, snapshot, stats } = asked();
    const all = Promise.all([stats.next(), stats.next()]);
    expect(snapshot).toHaveBeenCalledTimes(1);
    reply(0, 1);
    expect((await all).map(({ at }) => at)).toEqual([1, 1]);
  });

  test('the numbers from before, or their error, are not repeated', async () => {
    const { fail, reply, snapshot, stats } = asked();
    const first = stats.next();
    fail(0);
    await expect(first).rejects.toThrow('away');
    vi.advanceTimersByTime(3_600_000);
    const all = Promise.all([stats.next(), stats.next()]);
    reply(1, 3_600_000);
    expect((await all).map(({ at }) => at)).toEqual([3_600_000, 3_600_000]);
    expect(snapshot).toHaveBeenCalledTimes(2);
  });

  test('a late reply to the question before changes nothing', async () => {
    const { reply, stats } = asked();
    const first = stats.next();
    vi.advanceTimersByTime(1_000);
    const second = stats.next();
    reply(1, 2);
    reply(0, 1);
    expect([(await first).at, (await second).at]).toEqual([1, 2]);
    expect((await stats.next()).at).toBe(2);
  });

  test('a reply that does not come is an error, and the bus is asked again', async () => {
    const { reply, stats } = asked();
    const lost = expect(stats.next()).rejects.toMatchObject({ code: 'bus-unavailable' });
    await vi.advanceTimersByTimeAsync(5_000);
    await lost;
    const next = stats.next();
    reply(1, 2);
    expect((await next).at).toBe(2);
  });

  /** Public numbers of a bus whose replies the test gives, by the number of the question. */
  function asked() {
    const questions: PromiseWithResolvers<Snapshot>[] = [];
    const snapshot = vi.fn(() => {
      const question = Promise.withResolvers<Snapshot>();
      questions.push(question);
      return question.promise;
    });
    return {
      snapshot,
      stats: new PublicStats({ snapshot } as unknown as BusOperator),
      reply: (number: number, at: number) => questions[number]?.resolve({ at } as Snapshot),
      fail: (number: number) => questions[number]?.reject(new Error('away')),
    };
  }
});

test('invalid options are refused', () => {
  const server = serving();
  for (const options of [
    { server, token: '' },
    { server, token: 'fifteen-letters' },
    { server, path: '/console' },
    { server: { ...server } },
  ])
    expect(() => createOperatorHandler(options)).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
});

test.each([
  ['the middleware for Hono', () => listenMiddleware(() => new Response())],
  ["the SDK's handler", () => createMcpHandler(() => new McpServer(INFO))],
])('%s is operated as its server', async (_, serverOf) => {
  const handler = createOperatorHandler({ server: serverOf(), token: TOKEN });
  const response = await handler(new Request('http://localhost/console/stats', BEARER));
  expect(await response?.json()).toMatchObject({ streams: { open: 0 } });
});

test('a process shows its streams and their topics, and publishes and ends what the operator requests', async () => {
  const { operate, send, server } = operating();
  const stream = await open(server, { ...TOOLS, resourceSubscriptions: ['note://a'] });
  await stream.message();
  const snapshot = (await (await send('stats', BEARER))?.json()) as Snapshot;
  expect(snapshot).toMatchObject({ objects: [], isolates: [{ isolate: snapshot.isolate }] });
  expect(snapshot.topics).toEqual([
    { topic: 'resource:note://a', streams: 1 },
    { topic: 'tools', streams: 1 },
  ]);
  await operate({ do: 'publish', events: [{ kind: 'tools_list_changed' }] });
  expect(await stream.message()).toContain('notifications/tools/list_changed');
  expect(await operate({ do: 'drain', isolate: 'another', windowMs: 0 })).toEqual({ isolates: [] });
  await operate({ do: 'drain', count: 1, windowMs: 0 });
  expect(await restOf(stream)).toEqual([]);
  expect(server.stats().ended).toMatchObject({ drained: 1 });
});

test.each([
  '',
  '[]',
  '{"do":"dance"}',
  '{"do":"drain","count":null}',
  '{"do":"drain","count":-1}',
  '{"do":"drain","isolate":1}',
  '{"do":"disconnect"}',
  '{"do":"publish","events":[]}',
  '{"do":"publish","events":[{"kind":"nonsense"}]}',
  '{"do":"publish","events":[{"kind":"event","name":"a.b","data":{}}]}',
])('the order %s is refused', async (body) => {
  const { send } = operating();
  expect((await send('operate', { ...BEARER, method: 'POST', body }))?.status).toBe(400);
});

test('a stream of statistics waits for its reader, and ends with it', async () => {
  const { send } = operating();
  const headers = { ...BEARER.headers, accept: 'text/event-stream' };
  const response = await send('stats', { headers });
  const reader = response?.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let turn = 0; turn < 2; turn += 1)
    expect((await reader?.read())?.value).toMatch(/^data: \{"at":\d+.*\n\n$/);
  await reader?.cancel();
});

test('a hundred streams of public statistics are open at a time, besides those of operators', async () => {
  const { send } = operating({ isPublic: true });
  const accept = { accept: 'text/event-stream' };
  const begin = () => send('stats', { headers: accept });
  const [first] = await Promise.all(Array.from({ length: 100 }, begin));
  const refused = await begin();
  expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([429, '10']);
  const operator = await send('stats', { headers: { ...BEARER.headers, ...accept } });
  expect(operator?.status).toBe(200);
  expect((await send('stats'))?.status).toBe(200);
  const reader = first?.body?.getReader();
  await reader?.read();
  expect((await begin())?.status).toBe(429);
  await reader?.cancel();
  expect((await begin())?.status).toBe(200);
  await operator?.body?.cancel();
});

function operating(options: Partial<OperatorOptions> = {}) {
  const server = serving({ bus: new InMemoryBus() });
  const handler = createOperatorHandler({ server, token: TOKEN, ...options });
  const send = (path: string, init?: RequestInit) =>
    handler(new Request(`http://localhost/console/${path}`, init));
  const operate = async (order: object) => {
    const body = JSON.stringify(order);
    return (await send('operate', { ...BEARER, method: 'POST', body }))?.json();
  };
  return { server, send, operate };
}

const TOKEN = 'of-an-operator-1';
const BEARER = { headers: { authorization: `Bearer ${TOKEN}` } };
const INFO = { name: 'notes', version: '1.0.0' };
