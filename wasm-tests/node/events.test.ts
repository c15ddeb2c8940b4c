import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { EventReader } from '../host/events.ts';

const EXTENSION = 'io.modelcontextprotocol/events';

function served(options: Parameters<typeof defineEvents>[1] = {}) {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents(
    {
      'order.paid': {
        description: 'An order was paid',
        inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
        payloadSchema: {
          type: 'object',
          properties: { customer: { type: 'string' } },
          required: ['customer'],
        },
        match: { customer: '/customer' },
      },
    },
    options,
  );
  const server = createListenHandler(discovering, { bus, events });
  const call = (method: string, params: object, id: unknown = 1) =>
    server.fetch(requestOf(method, params, id));
  return { bus, server, call };
}

async function discovering(request: Request): Promise<Response> {
  const { id } = (await request.json()) as { id: unknown };
  const result = { resultType: 'complete', capabilities: { tools: {} } };
  return Response.json({ jsonrpc: '2.0', id, result });
}

function requestOf(method: string, params: object, id: unknown): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [EXTENSION]: {} } },
  };
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  });
}

async function resultOf(response: Response): Promise<Record<string, unknown>> {
  const { error, result } = (await response.json()) as Record<string, Record<string, unknown>>;
  expect(error).toBeUndefined();
  return result as Record<string, unknown>;
}

test('events are announced and listed, with the modes that the bus has', async () => {
  const { call } = served();
  const { capabilities } = await resultOf(await call('server/discover', {}));
  expect(capabilities).toMatchObject({ tools: {}, extensions: { [EXTENSION]: {} }, events: {} });
  const { events } = await resultOf(await call('events/list', {}));
  expect(events).toMatchObject([{ name: 'order.paid', delivery: ['poll', 'push'] }]);
});

test('a poll returns what was published after its cursor, and matches', async () => {
  const { call, server } = served();
  const begun = await resultOf(await call('events/poll', { name: 'order.paid' }));
  expect(begun).toMatchObject({ events: [], truncated: false, hasMore: false });
  await server.notify.event('order.paid', { customer: 'acme' }, { id: 'one' });
  await server.notify.event('order.paid', { customer: 'other' });
  const { cursor } = begun;
  const all = await resultOf(await call('events/poll', { name: 'order.paid', cursor }));
  expect(all['events']).toMatchObject([
    { eventId: 'one', name: 'order.paid', data: { customer: 'acme' } },
    { data: { customer: 'other' } },
  ]);
  const args = { customer: 'acme' };
  const some = await resultOf(
    await call('events/poll', { name: 'order.paid', arguments: args, cursor }),
  );
  expect(some['events']).toMatchObject([{ eventId: 'one' }]);
});

test('a payload that its schema refuses is not published', async () => {
  const { server } = served();
  await expect(server.notify.event('order.paid', {})).rejects.toMatchObject({
    code: 'invalid-event-data',
  });
  await expect(server.notify.event('unknown', {})).rejects.toMatchObject({
    code: 'invalid-event-name',
  });
});

test('a stream begins with active, and receives what is published', async () => {
  const { call, server } = served();
  const response = await call('events/stream', { name: 'order.paid' }, 'sub');
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = new EventReader(response);
  expect(await reader.next()).toMatchObject({
    method: 'notifications/events/active',
    params: { truncated: false, _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } },
  });
  await server.notify.event('order.paid', { customer: 'acme' });
  await server.notify.event('order.paid', { customer: 'other' });
  for (const customer of ['acme', 'other']) {
    expect(await reader.next()).toMatchObject({
      method: 'notifications/events/event',
      params: { data: { customer } },
    });
  }
});
