import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { watchEvents } from 'mcp-listen/client';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => void vi.useRealTimers());

const handler = async (): Promise<Response> => new Response(null, { status: 404 });

function served() {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': { match: { to: '/to' } } });
  return createListenHandler(handler, { bus, events });
}

test.each(['push', 'poll'] as const)('our client receives events by %s', async (mode) => {
  const server = served();
  const received: unknown[] = [];
  let cursor: string | undefined;
  const watch = watchEvents('http://127.0.0.1/mcp', {
    name: 'order.paid',
    arguments: { to: 'me' },
    mode,
    fetch: (input, init) => server.fetch(new Request(input, init)),
    cursor: {
      load: () => cursor,
      save: (saved) => {
        cursor = saved ?? undefined;
      },
    },
    onEvent: ({ data }) => void received.push(data),
    onGap: (gap) => void received.push(gap),
    onTerminated: (error) => void received.push(error),
    onError: (error) => void received.push(error),
  });
  while (cursor === undefined) await vi.advanceTimersByTimeAsync(1);
  await server.notify.event('order.paid', { to: 'me', n: 1 });
  await server.notify.event('order.paid', { to: 'you', n: 2 });
  await server.notify.event('order.paid', { to: 'me', n: 3 });
  while (received.length < 2) await vi.advanceTimersByTimeAsync(1_000);
  expect(received).toEqual([1, 3].map((n) => ({ to: 'me', n })));
  await watch.close();
});
