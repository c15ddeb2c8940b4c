import { expect, test, vi } from 'vitest';
import { acknowledged, listChanged } from '../host/listen.ts';
import { listenRequest, open, RESULT, TOOLS, watched } from './serving.ts';

test('a stream ends gracefully with the result, after what was pending', async () => {
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

test('a stream ends without a result when its reader takes nothing until close gives up', async () => {
  const { attached, server } = watched({ limits: { closeMs: 20 } });
  const response = await server.fetch(listenRequest(TOOLS));
  await server.close();
  expect(attached()).toBe(0);
  expect(await response.text()).not.toContain('result');
  expect(server.stats().ended).toMatchObject({ aborted: 1, closed: 0 });
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

test('a stream ends at once where nothing is honored, without a place on the bus', async () => {
  const { attached, server } = watched({ capabilities: {} });
  const stream = await open(server, TOOLS);
  expect(attached()).toBe(0);
  expect(await stream.message()).toBe(acknowledged('1', {}));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
});

test('a thousand streams, opened and dropped in one tick, leave nothing behind and are no error', async () => {
  const onerror = vi.fn();
  const { attached, server } = watched({ onerror });
  const aborts = Array.from({ length: 1_000 }, () => new AbortController());
  const opened = aborts.map(({ signal }) => server.fetch(listenRequest(TOOLS, { signal })));
  for (const abort of aborts) abort.abort();
  await Promise.all(opened);
  expect(attached()).toBe(0);
  expect(onerror).not.toHaveBeenCalled();
});
