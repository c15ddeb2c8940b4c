import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';
import { elapse, settled } from './scripted.ts';

/** A server whose callers are all named `ann`, and the responses to requests. */
function serving(options: Partial<ListenHandlerOptions> = {}) {
  const errors: Error[] = [];
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ 'order.paid': {} }),
    principal: () => 'ann',
    onError: (error) => errors.push(error),
    ...options,
  });
  const ask = async (method: string, params: object = {}) => {
    const response = await server.fetch(requestOf(method, params, 1));
    const isStream = response.headers.get('content-type') === 'text/event-stream';
    if (isStream) throw new Error('the stream was opened');
    return response.json();
  };
  return { ask, errors, server };
}

test('a stream that is still opening when the server closes is refused', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const bus = Object.assign(new InMemoryBus({ events: eventLog() }), { ready: () => promise });
  const { ask, server } = serving({ bus });
  const refused = ask('events/stream', { name: 'order.paid' });
  await settled();
  const closed = server.close();
  resolve();
  expect(await refused).toMatchObject({ error: { code: -32_603, data: { reason: 'bus' } } });
  await closed;
  expect(server.stats()).toMatchObject({ open: 0, opened: 1 });
});

test('a stream that the bus does not confirm within three seconds gets a 503', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const ready = () => new Promise<void>(() => {});
  const bus = Object.assign(new InMemoryBus({ events: eventLog() }), { ready });
  const { errors, server } = serving({ bus });
  let status: number | undefined;
  const response = server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1));
  void response.then((answer) => {
    status = answer.status;
  });
  await elapse(2_800);
  expect(status).toBeUndefined();
  await elapse(200);
  expect(status).toBe(503);
  const { error } = (await (await response).json()) as { error: unknown };
  expect(error).toMatchObject({ code: -32_603, data: { reason: 'bus' } });
  expect(errors).toMatchObject([{ code: 'attach-timeout' }]);
});

test('a stream whose opening never ends counts for its caller for a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let opening: Promise<void> = new Promise(() => {});
  const bus = Object.assign(new InMemoryBus({ events: eventLog() }), { ready: () => opening });
  const { ask } = serving({ bus, timeouts: { attachMs: 0 } });
  const open = () => ask('events/stream', { name: 'order.paid' });
  for (let count = 0; count < 16; count += 1) void open();
  await settled();
  opening = Promise.resolve();
  const refused = { error: { data: { limit: 'streams' } } };
  expect(await open()).toMatchObject(refused);
  await elapse(60_000);
  await expect(open()).rejects.toThrow('the stream was opened');
});

test("with `listen: 'off'` events are polled, and not pushed", async () => {
  const { ask } = serving({ listen: 'off' });
  expect(await ask('events/list')).toMatchObject({
    result: { events: [{ name: 'order.paid', delivery: ['poll'] }] },
  });
  expect(await ask('events/stream', { name: 'order.paid' })).toMatchObject({
    error: { code: -32_601 },
  });
});

test('a stream opens whatever the limits on the URIs and the size of a listen are', async () => {
  const limits = { uriBytes: 0, uris: 0, idBytes: 1, depth: 5, maxRequestBodySize: 300 };
  const { errors, server } = serving({ limits });
  const response = await server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1));
  expect([response.headers.get('content-type'), errors]).toEqual(['text/event-stream', []]);
  const reader = new EventReader(response);
  expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
  await server.notify.event('order.paid', { number: 1 });
  expect(await reader.next()).toMatchObject({ params: { data: { number: 1 } } });
  await server.close();
});

test('a stream that cannot be opened does not count for its caller', async () => {
  const bus = Object.assign(new InMemoryBus({ events: eventLog() }), {
    subscribeAll: (): never => {
      throw new Error('away');
    },
  });
  const { ask, errors } = serving({ bus });
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const refused = await ask('events/stream', { name: 'order.paid' });
    expect(refused).toMatchObject({ error: { code: -32_603, data: { reason: 'bus' } } });
  }
  expect(errors.length).toBeGreaterThan(0);
});
