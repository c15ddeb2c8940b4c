import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';

/** A server with a function that returns what has no JSON text for some arguments. */
function serving() {
  const errors: Error[] = [];
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({
      measured: {
        transform: (data, args) => ('isBroken' in args ? { value: 1n } : data) as { value: number },
      },
    }),
    onError: (error) => errors.push(error),
  });
  const request = async (method: string, args: object, params: object = {}) =>
    server.fetch(requestOf(method, { name: 'measured', arguments: args, ...params }, 1));
  return { errors, request, server };
}

test('a payload without JSON text is an error of its stream, and others get their events', async () => {
  const { errors, request, server } = serving();
  const open = async (args: object) => new EventReader(await request('events/stream', args));
  const [broken, whole] = [await open({ isBroken: true }), await open({})];
  for (const reader of [broken, whole]) await reader.next();
  for (const value of [1, 2]) {
    await server.notify.event('measured', { value });
    expect(await broken.next()).toMatchObject({ method: 'notifications/events/error' });
    expect(await whole.next()).toMatchObject({ params: { data: { value } } });
  }
  expect(errors[0]).toBeInstanceOf(TypeError);
  for (const reader of [broken, whole]) reader.drop();
});

test('a poll skips an occurrence without JSON text', async () => {
  const { request, server } = serving();
  const poll = async (cursor: string | null) =>
    (await request('events/poll', { isBroken: true }, { cursor })).json();
  const { result } = (await poll(null)) as { result: { cursor: string } };
  await server.notify.event('measured', { value: 1 });
  expect(await poll(result.cursor)).toMatchObject({ result: { events: [] } });
});

/** A server with a function that cuts the character of some titles in half. */
function cutting() {
  const errors: Error[] = [];
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({
      titled: { transform: ({ title }) => ({ title: String(title).slice(0, 1) }) },
    }),
    onError: (error) => errors.push(error),
  });
  const request = async (method: string, params: object = {}) =>
    server.fetch(requestOf(method, { name: 'titled', ...params }, 1));
  const publish = async () => {
    for (const title of ['\u{1f600}', 'plain']) await server.notify.event('titled', { title });
  };
  return { errors, publish, request };
}

test('a payload with half a character is an error of its occurrence alone in a stream', async () => {
  const { errors, publish, request } = cutting();
  const reader = new EventReader(await request('events/stream'));
  await reader.next();
  await publish();
  expect(await reader.next()).toMatchObject({ method: 'notifications/events/error' });
  expect(await reader.next()).toMatchObject({ params: { data: { title: 'p' } } });
  expect(errors).toMatchObject([{ code: 'invalid-event-data' }]);
  reader.drop();
});

test('a poll skips a payload with half a character', async () => {
  const { publish, request } = cutting();
  const poll = async (cursor: string | null) => (await request('events/poll', { cursor })).json();
  const { result } = (await poll(null)) as { result: { cursor: string } };
  await publish();
  expect(await poll(result.cursor)).toMatchObject({
    result: { events: [{ data: { title: 'p' } }] },
  });
});

test('groups that are not valid are an error of `principal`', async () => {
  const errors: Error[] = [];
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ measured: {} }),
    principal: () => ({ name: 'ann', groups: [''] }),
    onError: (error) => errors.push(error),
  });
  expect((await server.fetch(requestOf('events/list', {}, 1))).status).toBe(503);
  expect(errors).toMatchObject([{ code: 'authorizer-failed' }]);
});

test('a transform may return a promise, which fails its occurrence if it rejects or is late', async () => {
  const errors: Error[] = [];
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({
      measured: {
        transform: async ({ value }) => {
          if (value === 'broken') throw new Error('broken');
          if (value === 'late') await new Promise(() => {});
          return { value, isTransformed: true };
        },
      },
    }),
    timeouts: { authorizeMs: 100 },
    onError: (error) => errors.push(error),
  });
  const request = requestOf('events/stream', { name: 'measured' }, 1);
  const reader = new EventReader(await server.fetch(request));
  await reader.next();
  for (const value of ['broken', 'late', 'whole']) await server.notify.event('measured', { value });
  for (const _ of ['broken', 'late'])
    expect(await reader.next()).toMatchObject({ method: 'notifications/events/error' });
  const data = { value: 'whole', isTransformed: true };
  expect(await reader.next()).toMatchObject({ params: { data } });
  const messages = errors.map(({ message }) => message);
  expect(messages).toEqual(['broken', 'transform took too long']);
  reader.drop();
});
