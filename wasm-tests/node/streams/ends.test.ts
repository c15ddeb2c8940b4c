import { InMemoryBus } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import type { AttachableBus } from '../../../dist/bus/attachable-bus.js';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { declaring } from '../../host/options.ts';
import { listenRequest, messagesOf, open, RESULT, serving, TOOLS, watched } from '../serving.ts';

test('a stream ends gracefully with the result, after its pending cues', async () => {
  const { attached, server } = watched();
  const stream = await open(server, TOOLS);
  await server.notify.toolsChanged();
  const closed = server.close();
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
  await closed;
  expect(attached()).toBe(0);
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(503);
});

test('a client that reads after close receives its pending cues and the result', async () => {
  const { attached, server } = watched();
  const response = await server.fetch(listenRequest(TOOLS));
  await server.notify.toolsChanged();
  await server.close();
  expect(attached()).toBe(0);
  expect(server.stats()).toMatchObject({ open: 0, ended: { closed: 1, aborted: 0 } });
  await server.notify.toolsChanged();
  expect(await messagesOf(response)).toEqual([
    acknowledged('1', TOOLS),
    listChanged('1', 'tools'),
    RESULT,
  ]);
});

test('close delivers what the bus still has on its way', async () => {
  const bus: AttachableBus = new InMemoryBus();
  bus.settle = async () => {
    await new Promise(setImmediate);
    await bus.publish({ kind: 'tools_list_changed' });
  };
  const server = serving({ bus });
  const stream = await open(server, TOOLS);
  await server.close();
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
});

test('a drain delivers what the bus still has on its way, and asks it once for all streams', async () => {
  const bus: AttachableBus = new InMemoryBus();
  let questions = 0;
  bus.settle = async () => {
    questions += 1;
    await new Promise(setImmediate);
    await bus.publish({ kind: 'tools_list_changed' });
  };
  const server = serving({ bus });
  const streams = await Promise.all(Array.from({ length: 20 }, () => open(server, TOOLS)));
  const drained = server.drain({ windowMs: 0 });
  for (const stream of streams) {
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBeUndefined();
  }
  await drained;
  expect(questions).toBe(1);
});

test('close resolves within one turn of the event loop, whatever clients read', async () => {
  const { server } = watched();
  for (let count = 0; count < 100; count += 1) await server.fetch(listenRequest(TOOLS));
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 0);
  await server.close();
  clearInterval(turning);
  expect(turns).toBeLessThanOrEqual(1);
  expect(server.stats().ended.closed).toBe(100);
});

test('the frozen rest of a stream is bounded by its honored filter', async () => {
  const { server } = watched();
  const response = await server.fetch(listenRequest(TOOLS));
  for (let count = 0; count < 1_000; count += 1) await server.notify.toolsChanged();
  await server.close();
  expect(await messagesOf(response)).toHaveLength(3);
});

test('cancelling a frozen body does not affect the stream that reuses its number', async () => {
  const { server } = watched({ server: declaring({ tools: { listChanged: true } }) });
  const frozen = await server.fetch(listenRequest({ promptsListChanged: true }));
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  await frozen.body?.cancel();
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ open: 1, ended: { closed: 1, left: 0 } });
});

test('a draining stream yields its pending cues and no result when its server closes', async () => {
  const { server } = watched();
  const response = await server.fetch(listenRequest(TOOLS));
  await server.notify.toolsChanged();
  const drained = await open(server, TOOLS);
  await drained.message();
  void server.drain({ windowMs: 0 });
  expect(await drained.message()).toBeUndefined();
  await server.close();
  expect(server.stats()).toMatchObject({ open: 0, ended: { drained: 2, closed: 0 } });
  expect(await messagesOf(response)).toEqual([acknowledged('1', TOOLS), listChanged('1', 'tools')]);
});

test('a stream ends when its reader cancels', async () => {
  const { attached, server } = watched();
  const { body } = await server.fetch(listenRequest(TOOLS));
  expect(attached()).toBe(1);
  await body?.cancel();
  expect(attached()).toBe(0);
  await server.notify.toolsChanged();
});

test('a stream ends when its request is aborted, before or after the ack', async () => {
  const { attached, server } = watched();
  const abort = new AbortController();
  await server.fetch(listenRequest(TOOLS, { signal: abort.signal }));
  expect(attached()).toBe(1);
  abort.abort();
  expect(attached()).toBe(0);
  await server.fetch(listenRequest(TOOLS, { signal: abort.signal }));
  expect(attached()).toBe(0);
});

test('a stream that honors nothing ends at once, without attaching to the bus', async () => {
  const { attached, server } = watched({ server: declaring({}) });
  const stream = await open(server, TOOLS);
  expect(attached()).toBe(0);
  expect(await stream.message()).toBe(acknowledged('1', {}));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
});

test('10,000 streams that are dropped in the tick of their opening leave nothing behind', async () => {
  const onError = vi.fn();
  const { attached, server } = watched({ limits: { maxSubscriptions: MANY }, onError });
  const openAndDrop = async () => {
    const { body } = await server.fetch(listenRequest(TOOLS));
    await body?.cancel();
  };
  await Promise.all(Array.from({ length: MANY }, openAndDrop));
  expect(server.stats()).toMatchObject({ open: 0, ended: { left: MANY } });
  expect(attached()).toBe(0);
  expect(onError).not.toHaveBeenCalled();
});

test('a thousand requests that are aborted in the tick of their beginning open no stream', async () => {
  const onError = vi.fn();
  const { attached, server } = watched({ onError });
  const aborts = Array.from({ length: 1_000 }, () => new AbortController());
  const opened = aborts.map(({ signal }) => server.fetch(listenRequest(TOOLS, { signal })));
  for (const abort of aborts) abort.abort();
  await Promise.all(opened);
  expect(attached()).toBe(0);
  expect(onError).not.toHaveBeenCalled();
});

/** Opening and dropping them takes a second or two; the tests of the core have 100,000. */
const MANY = 10_000;
