import { createListenHandler, InMemoryBus, type ListenLimits } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { describe, expect, test } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { listenRequest, TOOLS } from '../serving.ts';
import { discovering, EXTENSION, requestOf } from './requests.ts';

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

test.each([
  [null, 'event types are not an object of definitions'],
  [[{}], 'event types are not an object of definitions'],
  [{ 'order.paid': 'often' }, 'the definition of order.paid is not an object'],
  [{ 'order.paid': { payloadShema: {} } }, 'the definition of order.paid has no payloadShema'],
])('%j defines no event types', (types, problem) => {
  expect(() => defineEvents(types as never)).toThrow(problem);
});

test.each(['logEvents', 'logAgeMs', 'logBytes', 'logNames'])(
  'a log whose %s is 0 is refused',
  (name) => {
    expect(() => eventLog({ [name]: 0 })).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
  },
);

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

test('what a slow reader has not read stays in the log, and comes in order, once', async () => {
  const { call, server } = served();
  const response = await call('events/stream', { name: 'order.paid' });
  const count = 2_000;
  for (let number = 0; number < count; number += 1)
    await server.notify.event('order.paid', { customer: `${number}`, text: 'x'.repeat(500) });
  const reader = new EventReader(response);
  expect(await reader.next()).toMatchObject({ method: 'notifications/events/active' });
  for (let number = 0; number < count; number += 1)
    expect(await reader.next()).toMatchObject({ params: { data: { customer: `${number}` } } });
});

test('a function decides what matches, and what is delivered', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({
    measured: {
      match: (args, data) => Number(data['value']) >= Number(args['least']),
      transform: ({ value }, args) => ({ value, least: args['least'] }),
    },
  });
  const server = createListenHandler(discovering, { bus, events });
  const streams = await Promise.all(
    [1, 5].map(async (least) => {
      const params = { name: 'measured', arguments: { least } };
      const reader = new EventReader(await server.fetch(requestOf('events/stream', params, least)));
      await reader.next();
      return reader;
    }),
  );
  for (const value of [0, 3, 7]) await server.notify.event('measured', { value });
  const [low, high] = streams;
  for (const value of [3, 7])
    expect(await low?.next()).toMatchObject({ params: { data: { value, least: 1 } } });
  expect(await high?.next()).toMatchObject({ params: { data: { value: 7, least: 5 } } });
});

describe('callers', () => {
  const naming = (request: Request) => ({
    name: request.headers.get('authorization') ?? 'nobody',
    groups: request.headers.get('authorization') === 'staff' ? ['staff'] : [],
  });

  function serving(authorize?: (context: { principal: string | undefined }) => boolean) {
    const bus = new InMemoryBus({ events: eventLog() });
    const events = defineEvents({ 'order.paid': {} }, authorize && { authorize });
    const server = createListenHandler(discovering, { bus, events, principal: naming });
    const call = (method: string, params: object, authorization: string) => {
      const request = requestOf(method, params, 1);
      request.headers.set('authorization', authorization);
      return server.fetch(request);
    };
    return { call, server };
  }

  test('receive what is for their groups and for everyone, and nothing else', async () => {
    const { call, server } = serving();
    const [staff, guest] = await Promise.all(
      ['staff', 'guest'].map(async (name) => {
        const reader = new EventReader(await call('events/stream', { name: 'order.paid' }, name));
        await reader.next();
        return reader;
      }),
    );
    await server.notify.event('order.paid', { to: 'staff' }, { group: 'staff' });
    await server.notify.event('order.paid', { to: 'all' });
    for (const to of ['staff', 'all'])
      expect(await staff?.next()).toMatchObject({ params: { data: { to } } });
    expect(await guest?.next()).toMatchObject({ params: { data: { to: 'all' } } });
  });

  test('that are denied see no type, and get the same refusal as for one that does not exist', async () => {
    const { call } = serving(({ principal }) => principal === 'staff');
    const { events } = await resultOf(await call('events/list', {}, 'guest'));
    expect(events).toEqual([]);
    const errors = await Promise.all(
      ['order.paid', 'unknown'].map(async (name) =>
        (await call('events/poll', { name }, 'guest')).json(),
      ),
    );
    expect(errors[0]).toEqual(errors[1]);
    expect(errors[0]).toMatchObject({ error: { data: { kind: 'event' } } });
    expect((await call('events/poll', { name: 'order.paid' }, 'staff')).status).toBe(200);
  });

  test('that are disconnected learn that their stream is over, with its result', async () => {
    const { call, server } = serving();
    const reader = new EventReader(await call('events/stream', { name: 'order.paid' }, 'guest'));
    await reader.next();
    await server.disconnect('guest');
    expect(await reader.next()).toMatchObject({ method: 'notifications/events/terminated' });
    expect(await reader.next()).toMatchObject({ id: 1, result: { resultType: 'complete' } });
    expect(await reader.next()).toBeUndefined();
  });

  test('have sixteen streams at most', async () => {
    const { call } = serving();
    const opened = await Promise.all(
      Array.from({ length: 17 }, () => call('events/stream', { name: 'order.paid' }, 'guest')),
    );
    const refused = opened.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(1);
    expect(await refused[0]?.json()).toMatchObject({
      error: { data: { limit: 'streams', max: 16 } },
    });
  });
});

describe('a stream of events', () => {
  const ada = { authorization: 'ada' };
  const principal = (request: Request) => request.headers.get('authorization') ?? undefined;

  function limited(limits: ListenLimits, max?: number) {
    const bus = new InMemoryBus({ events: eventLog() });
    const options = max === undefined ? {} : { maxSubscriptionsPerPrincipal: max };
    const events = defineEvents({ 'order.paid': {} }, options);
    const server = createListenHandler(discovering, {
      ...{ bus, events, limits, principal },
      server: declaring(CAPABILITIES),
    });
    const stream = (headers: Record<string, string> = ada) => {
      const request = requestOf('events/stream', { name: 'order.paid' }, 1);
      for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
      return server.fetch(request);
    };
    const listen = () => server.fetch(listenRequest(TOOLS, { headers: ada }));
    return { listen, server, stream };
  }

  test('does not count as a listen of its caller, and no listen counts as one', async () => {
    const { listen, server, stream } = limited({ maxSubscriptionsPerPrincipal: 1 }, 3);
    expect((await listen()).status).toBe(200);
    for (let count = 0; count < 3; count += 1) expect((await stream()).status).toBe(200);
    expect(await (await stream()).json()).toMatchObject({ error: { data: { max: 3 } } });
    expect((await listen()).status).toBe(429);
    expect(server.listeners('ada')).toBe(4);
    await server.close();
  });

  test('is refused as beyond a limit by a server that holds no more streams', async () => {
    const { server, stream } = limited({ maxSubscriptions: 1 });
    expect((await stream()).status).toBe(200);
    const refused = await stream();
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { data: { limit: 'streams', max: 1 } },
    });
    await server.close();
  });

  test('whose header fields are larger than it may keep gets 431', async () => {
    const { server, stream } = limited({ headerBytes: 1_000 });
    expect((await stream({ ...ada, 'x-large': 'x'.repeat(1_000) })).status).toBe(431);
    await server.close();
  });

  test('is unavailable at a server that closes', async () => {
    const { server, stream } = limited({});
    await server.close();
    const refused = await stream();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { data: { reason: 'closing' } } });
  });
});

test('a limit of 0 streams refuses callers with a name, and no others', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {} }, { maxSubscriptionsPerPrincipal: 0 });
  const principal = (request: Request) => request.headers.get('authorization') ?? undefined;
  const server = createListenHandler(discovering, { bus, events, principal });
  const request = () => requestOf('events/stream', { name: 'order.paid' }, 1);
  const named = request();
  named.headers.set('authorization', 'ada');
  expect((await server.fetch(named)).status).toBe(400);
  expect((await server.fetch(request())).status).toBe(200);
});

test('a stream is cut without a result when the server closes', async () => {
  const { call, server } = served();
  const reader = new EventReader(await call('events/stream', { name: 'order.paid' }));
  await reader.next();
  await server.close();
  expect(await reader.next()).toBeUndefined();
});

test('heartbeats advance the cursor past events that are not for the stream', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {}, other: {} });
  const server = createListenHandler(discovering, { bus, events, keepAliveMs: 20 });
  const ask = (method: string) => server.fetch(requestOf(method, { name: 'order.paid' }, 1));
  const reader = new EventReader(await ask('events/stream'));
  for (let count = 0; count < 3; count += 1) await server.notify.event('other', {});
  const { cursor } = await resultOf(await ask('events/poll'));
  const heard = async () => (await reader.next())?.params['cursor'];
  expect(await heard()).not.toBe(cursor);
  await expect.poll(heard).toBe(cursor);
  reader.drop();
});

test('silence is broken by heartbeats with a cursor, and by no comment', async () => {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {} });
  const server = createListenHandler(discovering, { bus, events, keepAliveMs: 20 });
  const reader = new EventReader(
    await server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1)),
  );
  await reader.next();
  expect(await reader.next()).toMatchObject({
    method: 'notifications/events/heartbeat',
    params: { cursor: expect.any(String) },
  });
});
