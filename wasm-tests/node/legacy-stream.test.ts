import { InMemoryBus, type ServerEvent, serveListen } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { fields, LegacySession } from '../host/legacy.ts';
import { acknowledged, listChanged, updated, WireStream } from '../host/listen.ts';
import { sendTo, sessionServer } from './legacy-serving.ts';
import { listenRequest, refusal } from './serving.ts';

const TOOLS = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

test('one publish reaches a stream of 2026-07-28 and a session, each in its own words and once', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const legacy = await session.open();
  expect(legacy.response.headers.get('content-type')).toBe('text/event-stream');
  expect(fields(await legacy.event())).toMatchObject({ data: '' });
  const filter = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
  const modern = await modernStream(server.fetch, filter);
  expect(await modern.message()).toBe(acknowledged('1', filter));
  await server.notify.resourceUpdated('note://a');
  await server.notify.resourceUpdated('note://b');
  await server.notify.promptsChanged();
  await server.notify.toolsChanged();
  expect(await modern.message()).toBe(updated('1', 'note://a'));
  expect(await modern.message()).toBe(listChanged('1', 'tools'));
  expect(await heard(legacy)).toEqual(change('note://a'));
  expect(await heard(legacy)).toEqual(TOOLS);
  await server.close();
  expect(await legacy.event()).toBeUndefined();
});

test('what is subscribed to while the stream is open is heard, what is unsubscribed from is not', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  await stream.event();
  for (let twice = 0; twice < 2; twice += 1) {
    expect(await session.ask('resources/subscribe', { uri: 'note://a' })).toEqual(EMPTY);
    expect(await session.ask('resources/subscribe', { uri: 'note://b' })).toEqual(EMPTY);
  }
  await server.notify.resourceUpdated('note://a');
  expect(await heard(stream)).toEqual(change('note://a'));
  for (let twice = 0; twice < 2; twice += 1) {
    expect(await session.ask('resources/unsubscribe', { uri: 'note://a' })).toEqual(EMPTY);
  }
  await server.notify.resourceUpdated('note://a');
  await server.notify.resourceUpdated('note://b');
  expect(await heard(stream)).toEqual(change('note://b'));
});

test.each([
  ['no uri', {}],
  ['an empty uri', { uri: '' }],
  ['a uri with a line break', { uri: 'note://\n' }],
  ['a uri that is none', { uri: 1 }],
  ['a uri that is too long', { uri: 'x'.repeat(2_049) }],
])('%s is refused within the session', async (_name, params) => {
  const session = await LegacySession.begin(sessionServer().send);
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    expect(await session.ask(method, params)).toMatchObject({ id: 7, error: { code: -32_602 } });
  }
});

test('a session watches only so many resources', async () => {
  const session = await LegacySession.begin(sessionServer({ limits: { uris: 2 } }).send);
  for (const uri of ['a', 'b', 'b']) expect(await session.ask('resources/subscribe', { uri })).toEqual(EMPTY);
  expect(await session.ask('resources/subscribe', { uri: 'c' })).toMatchObject({
    error: { code: -32_602, data: { limit: 2 } },
  });
});

test('a server that does not offer subscriptions to resources has no such method', async () => {
  const { send } = sessionServer({ capabilities: { resources: { listChanged: true } } });
  const session = await LegacySession.begin(send);
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    expect(await session.ask(method, { uri: 'note://a' })).toMatchObject({ error: { code: -32_601 } });
  }
});

test('a session has one stream', async () => {
  const session = await LegacySession.begin(sessionServer().send);
  const stream = await session.open();
  await stream.event();
  expect(await refusal(await session.get())).toMatchObject({ status: 409 });
  stream.drop();
  await expect.poll(async () => (await session.get()).status).toBe(200);
});

test('a stream must be asked for as one', async () => {
  const session = await LegacySession.begin(sessionServer().send);
  expect(await refusal(await session.get({ accept: 'application/json' }))).toMatchObject({ status: 406 });
});

test('ending the session ends its stream', async () => {
  const session = await LegacySession.begin(sessionServer().send);
  const stream = await session.open();
  await stream.event();
  await session.end();
  expect(await stream.event()).toBeUndefined();
});

test('a stream that comes back hears once of each subject that changed meanwhile, and no more', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  const { id } = fields(await stream.event());
  stream.drop();
  await server.notify.toolsChanged();
  await server.notify.resourceUpdated('note://a');
  await server.notify.resourceUpdated('note://a');
  await server.notify.promptsChanged();
  const next = await session.open(id);
  expect(fields(await next.event())).toEqual({ id, data: '' });
  const tools = fields(await next.event());
  expect(tools.data).toEqual(TOOLS);
  const note = fields(await next.event());
  expect(note.data).toEqual(change('note://a'));
  await server.notify.toolsChanged();
  expect(await heard(next)).toEqual(TOOLS);
  const from = await session.open(tools.id);
  expect(await next.event()).toBeUndefined();
  await from.event();
  expect(await heard(from)).toEqual(change('note://a'));
  expect(await heard(from)).toEqual(TOOLS);
});

test.each(['nonsense', 'unknown', '0-another-epoch', '99999999999999999999-x', '9007199254740992-x', '-'])(
  'an event id that says nothing (%s) cues every subject once',
  async (id) => {
    const { send, server } = sessionServer();
    const session = await LegacySession.begin(send);
    await session.ask('resources/subscribe', { uri: 'note://a' });
    const stream = await session.open(id);
    expect(fields(await stream.event())).toEqual({ id: 'unknown', data: '' });
    expect(await heard(stream)).toEqual(TOOLS);
    expect(await heard(stream)).toEqual({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' });
    const last = fields(await stream.event());
    expect(last).toMatchObject({ id: expect.stringMatching(/^0-/), data: change('note://a') });
    await server.notify.toolsChanged();
    expect(fields(await stream.event())).toMatchObject({ id: expect.stringMatching(/^1-/), data: TOOLS });
  },
);

test('an event id that has left the log cues every subject once', async () => {
  const bus = new InMemoryBus(undefined, { logEvents: 10 });
  const { send, server } = sessionServer({ bus, capabilities: { tools: { listChanged: true } } });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  const { id } = fields(await stream.event());
  stream.drop();
  const event: ServerEvent = { kind: 'prompts_list_changed' };
  for (let count = 0; count < 10; count += 1) await bus.publish(event);
  const within = await session.open(id);
  await within.event();
  await bus.publish(event);
  const beyond = await session.open(id);
  await beyond.event();
  expect(await heard(beyond)).toEqual(TOOLS);
  await server.notify.toolsChanged();
  expect(await heard(beyond)).toEqual(TOOLS);
});

test('what waits for a slow reader collapses', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  for (let count = 0; count < 1_000; count += 1) {
    await server.notify.resourceUpdated('note://a');
    await server.notify.toolsChanged();
  }
  await server.notify.resourcesChanged();
  const methods: unknown[] = [];
  while (methods.at(-1) !== 'notifications/resources/list_changed') {
    const { data } = fields(await stream.event()) as { data: { method?: string } };
    if (data.method !== undefined) methods.push(data.method);
  }
  // One write was on its way; what came after it waited collapsed.
  expect(methods.length).toBeLessThanOrEqual(4);
});

test('authorize narrows a session: what it may not hear is subscribed to in vain', async () => {
  const authorize = vi.fn(() => ({ resourceSubscriptions: ['note://mine'] }));
  const { send, server } = sessionServer({ authorize });
  const session = await LegacySession.begin(send);
  expect(await session.ask('resources/subscribe', { uri: 'note://yours' })).toEqual(EMPTY);
  expect(await session.ask('resources/subscribe', { uri: 'note://mine' })).toEqual(EMPTY);
  const stream = await session.open();
  await stream.event();
  await server.notify.toolsChanged();
  await server.notify.resourceUpdated('note://yours');
  await server.notify.resourceUpdated('note://mine');
  expect(await heard(stream)).toEqual(change('note://mine'));
  expect(authorize).toHaveBeenCalledTimes(3);
});

test('authorize may deny a session its stream', async () => {
  const authorize = () => ({ denied: 401, wwwAuthenticate: 'Bearer' }) as const;
  const session = await LegacySession.begin(sessionServer({ authorize }).send);
  const response = await session.get();
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
});

test('a bus written for the SDK carries sessions too', async () => {
  const listeners = new Set<(event: ServerEvent) => void>();
  const bus = {
    publish: (event: ServerEvent) => {
      for (const listener of listeners) listener(event);
    },
    subscribe: (listener: (event: ServerEvent) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const { send, server } = sessionServer({ bus });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  const { id } = fields(await stream.event());
  await server.notify.toolsChanged();
  expect(await heard(stream)).toEqual(TOOLS);
  stream.drop();
  const again = await session.open(id);
  await again.event();
  expect(await heard(again)).toEqual(TOOLS);
});

test('a handler that does not know server/discover tells its capabilities to initialize', async () => {
  const behind = () =>
    Response.json({
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: '2025-06-18', capabilities: { prompts: { listChanged: true } }, serverInfo: {} },
    });
  const server = serveListen(
    async (request: Request) =>
      (await request.text()).includes('discover') ? new Response(null, { status: 404 }) : behind(),
    { legacy: 'sessions' },
  );
  const session = await LegacySession.begin(sendTo(server));
  expect(session.initialized.result).toMatchObject({ capabilities: { prompts: { listChanged: true } } });
  const stream = await session.open();
  await stream.event();
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  expect(await heard(stream)).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

async function heard(stream: WireStream): Promise<unknown> {
  return fields(await stream.event()).data;
}

function change(uri: string): unknown {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
}

async function modernStream(fetch: (request: Request) => Promise<Response>, filter: unknown): Promise<WireStream> {
  return new WireStream(await fetch(listenRequest(filter)), new AbortController());
}

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
