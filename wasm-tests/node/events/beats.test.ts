import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test, vi } from 'vitest';
import { host } from '../../../dist/model/host-profile.js';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';
import { elapse, settled, useVirtualTime } from './scripted.ts';

useVirtualTime();

/** Opens a stream of the orders of acme. */
async function opened(options: Partial<ListenHandlerOptions>) {
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ 'order.paid': { match: { customer: '/customer' } } }),
    keepAliveMs: 1_000,
    ...options,
  });
  const params = { name: 'order.paid', arguments: { customer: 'acme' } };
  const response = await server.fetch(requestOf('events/stream', params, 1));
  const publish = () => server.notify.event('order.paid', { customer: 'other' });
  return { publish, response, server };
}

test('a stream gets heartbeats while there are many events for others', async () => {
  const { publish, response } = await opened({});
  const reader = new EventReader(response);
  const methods: string[] = [];
  void (async () => {
    for (;;) {
      const message = await reader.next();
      if (message === undefined) return;
      methods.push(message.method);
    }
  })();
  for (let round = 0; round < 100; round += 1) {
    await publish();
    await elapse(100);
  }
  const beats = methods.filter((method) => method.endsWith('heartbeat'));
  expect(beats.length).toBeGreaterThanOrEqual(8);
});

test('a client that reads nothing loses its stream while there are many events for others', async () => {
  const { publish, response, server } = await opened({ timeouts: { writeMs: 2_000 } });
  const reader = response.body?.getReader();
  await reader?.read();
  for (let round = 0; round < 80; round += 1) {
    await publish();
    await elapse(100);
  }
  expect(server.stats()).toMatchObject({ open: 0 });
});

test('a log in another process is read for heartbeats once an hour', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const { events: log } = bus;
  const page = vi.fn((query: string) => log?.page(query));
  Object.assign(bus, { events: { modes: log?.modes, page } });
  const events = defineEvents({ 'order.paid': { match: { customer: '/customer' } }, other: {} });
  const { response, server } = await opened({ bus, events, keepAliveMs: 25_000 });
  const reader = new EventReader(response);
  const cursors: unknown[] = [];
  void (async () => {
    for (;;) {
      const message = await reader.next();
      if (message === undefined) return;
      cursors.push(message.params['cursor']);
    }
  })();
  await server.notify.event('other', {});
  await settled();
  const reads = page.mock.calls.length;
  for (const [ms, count] of [
    [3_500_000, reads],
    [200_000, reads + 1],
    [3_400_000, reads + 1],
  ] as const) {
    await elapse(ms);
    expect(page).toHaveBeenCalledTimes(count);
  }
  expect(new Set(cursors).size).toBe(2);
});

test.each([true, false])('a client that reads slowly keeps its stream (%s)', async (fansOut) => {
  const { fansOut: former } = host;
  host.fansOut = fansOut;
  try {
    const { response, server } = await opened({ keepAliveMs: 300, timeouts: { writeMs: 2_000 } });
    const reader = response.body?.getReader();
    for (let round = 0; round < 30; round += 1) {
      void reader?.read();
      await elapse(400);
    }
    expect(server.stats()).toMatchObject({ open: 1 });
    await reader?.cancel();
    await settled();
  } finally {
    host.fansOut = former;
  }
});

test('a server whose heartbeats would come later than every 30 seconds does not start', async () => {
  for (const keepAliveMs of [0, 25_001])
    await expect(opened({ keepAliveMs })).rejects.toMatchObject({ code: 'invalid-options' });
  const { response } = await opened({ keepAliveMs: 25_000 });
  await response.body?.cancel();
});

test('a server without streams of events may have no heartbeats', async () => {
  await opened({ keepAliveMs: 0, listen: 'off' });
});
