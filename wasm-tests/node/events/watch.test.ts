import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { type EventHandlers, events, watch } from 'mcp-listen/client';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EventStream, occurrence, Script } from './scripted.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => void vi.useRealTimers());

const handler = async (): Promise<Response> => new Response(null, { status: 404 });

function served() {
  const bus = new InMemoryBus({ events: eventLog() });
  const types = defineEvents({ 'order.paid': { match: { to: '/to' } } });
  return createListenHandler(handler, { bus, events: types });
}

test.each(['push', 'poll'] as const)('a watch receives events by %s', async (mode) => {
  const server = served();
  const received: unknown[] = [];
  let cursor: string | undefined;
  const handlers: EventHandlers = {
    event: ({ data }) => void received.push(data),
    gap: (gap) => void received.push(gap),
    terminated: (error) => void received.push(error),
  };
  const watching = watch('http://127.0.0.1/mcp', events('order.paid', { to: 'me' }), handlers, {
    mode,
    fetch: (input, init) => server.fetch(new Request(input, init)),
    cursor: {
      load: () => cursor,
      save: (saved) => {
        cursor = saved ?? undefined;
      },
    },
    onError: (error) => void received.push(error),
  });
  while (cursor === undefined) await vi.advanceTimersByTimeAsync(1);
  await server.notify.event('order.paid', { to: 'me', n: 1 });
  await server.notify.event('order.paid', { to: 'you', n: 2 });
  await server.notify.event('order.paid', { to: 'me', n: 3 });
  while (received.length < 2) await vi.advanceTimersByTimeAsync(1_000);
  expect(received).toEqual([1, 3].map((n) => ({ to: 'me', n })));
  expect(watching).toMatchObject({ state: 'live', mode });
  await watching.close();
});

test('a watch passes gaps and the end on, also of an event without arguments', async () => {
  const received: unknown[] = [];
  const stream = new EventStream();
  const script = new Script(stream.respond);
  const handlers: EventHandlers = {
    event: ({ eventId }) => void received.push(eventId),
    gap: (gap) => void received.push(gap),
    terminated: ({ code }) => void received.push(code),
  };
  const options = { mode: 'push', fetch: script.fetch } as const;
  const watching = watch('https://mcp.example/mcp', events('order.paid'), handlers, options);
  while (script.sent.length === 0) await vi.advanceTimersByTimeAsync(1);
  expect(script.sent[0]?.params).toMatchObject({ name: 'order.paid', arguments: {} });
  await vi.advanceTimersByTimeAsync(1);
  stream.send(
    ['active', { cursor: 'c0', truncated: true }],
    ['event', occurrence('evt_1', { cursor: 'c1' })],
    ['terminated', { error: { code: -32_023 } }],
  );
  await watching.stopped;
  expect(received).toEqual([{ cursor: 'c0' }, 'evt_1', 'not-found']);
});

test('a filter with a member of the same name stays a filter', async () => {
  const filter = { open: true, toolsListChanged: true };
  const fetch = async (): Promise<Response> => new Response(null, { status: 401 });
  const watching = watch('https://mcp.example/mcp', filter, () => {}, { fetch });
  while (watching.state !== 'stopped') await vi.advanceTimersByTimeAsync(1);
  expect(watching.error?.code).toBe('refused');
});
