import { createListenHandler, InMemoryBus, type ServerEvent } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { change, fields, LegacySession, listChange, nextMessage } from '../../host/legacy.ts';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { declaring } from '../../host/options.ts';
import { PlainBus } from '../bus/plain-bus.ts';
import { open, refusal } from '../serving.ts';
import { sendTo, sessionServer } from './serving.ts';

const TOOLS = listChange('tools');

test('one publish reaches a listen stream and a session once, each in its form', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const legacy = await session.open();
  expect(legacy.response.headers.get('content-type')).toBe('text/event-stream');
  expect(fields(await legacy.event())).toMatchObject({ data: '' });
  const filter = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
  const modern = await open(server, filter);
  expect(await modern.message()).toBe(acknowledged('1', filter));
  await server.notify.resourceUpdated('note://a');
  await server.notify.resourceUpdated('note://b');
  await server.notify.promptsChanged();
  await server.notify.toolsChanged();
  expect(await modern.message()).toBe(updated('1', 'note://a'));
  expect(await modern.message()).toBe(listChanged('1', 'tools'));
  expect(await nextMessage(legacy)).toEqual(change('note://a'));
  expect(await nextMessage(legacy)).toEqual(TOOLS);
  await server.close();
  expect(await legacy.event()).toBeUndefined();
});

test('a stream that is not read yields its pending cues when its server closes', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  expect(fields(await stream.event())).toMatchObject({ data: '' });
  await server.notify.resourceUpdated('note://a');
  await server.notify.toolsChanged();
  await server.close();
  expect(server.stats()).toMatchObject({ open: 0, ended: { closed: 1 } });
  expect(await nextMessage(stream)).toEqual(change('note://a'));
  expect(await nextMessage(stream)).toEqual(TOOLS);
  expect(await stream.event()).toBeUndefined();
});

test('a session has one stream', async () => {
  const session = await LegacySession.begin(sessionServer().send);
  const stream = await session.open();
  await stream.event();
  expect(await refusal(await session.get())).toMatchObject({ status: 409 });
  stream.drop();
  await expect.poll(async () => (await session.get()).status).toBe(200);
});

test('a stream that resumes receives a cue per subject that changed meanwhile, and no more', async () => {
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
  expect(await nextMessage(next)).toEqual(TOOLS);
  const from = await session.open(tools.id);
  expect(await next.event()).toBeUndefined();
  await from.event();
  expect(await nextMessage(from)).toEqual(change('note://a'));
  expect(await nextMessage(from)).toEqual(TOOLS);
});

test('an event id that has left the log cues every subject once', async () => {
  const bus = new InMemoryBus({ logEvents: 10 });
  const { send, server } = sessionServer({
    bus,
    server: declaring({ tools: { listChanged: true } }),
  });
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
  expect(await nextMessage(beyond)).toEqual(TOOLS);
  await server.notify.toolsChanged();
  expect(await nextMessage(beyond)).toEqual(TOOLS);
});

test('cues for a slow reader collapse', async () => {
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
  // One write was on its way; what came after it collapsed.
  expect(methods.length).toBeLessThanOrEqual(4);
});

test('pending cues are written as soon as the client reads on', async () => {
  const { send, server } = sessionServer();
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  await stream.event();
  for (let count = 0; count < 3; count += 1) {
    // There is room for the first of them.
    await server.notify.resourceUpdated('note://a');
    await server.notify.toolsChanged();
    await server.notify.resourcesChanged();
    for (const method of ['resources/updated', 'tools/list_changed', 'resources/list_changed']) {
      expect(fields(await stream.event())).toMatchObject({
        data: { method: `notifications/${method}` },
      });
    }
  }
});

test('authorize narrows a session: a denied subscribe succeeds without effect', async () => {
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
  expect(await nextMessage(stream)).toEqual(change('note://mine'));
  expect(authorize).toHaveBeenCalledTimes(3);
});

test('authorize can deny the stream of a session', async () => {
  const authorize = () => ({ denied: 401, wwwAuthenticate: 'Bearer' }) as const;
  const session = await LegacySession.begin(sessionServer({ authorize }).send);
  const response = await session.get();
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
});

test('a bus written for the SDK serves sessions too', async () => {
  const { send, server } = sessionServer({ bus: new PlainBus() });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  const { id } = fields(await stream.event());
  await server.notify.toolsChanged();
  expect(await nextMessage(stream)).toEqual(TOOLS);
  stream.drop();
  const again = await session.open(id);
  await again.event();
  expect(await nextMessage(again)).toEqual(TOOLS);
});

test('a handler without server/discover declares its capabilities at initialize', async () => {
  const behind = () =>
    Response.json({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { prompts: { listChanged: true } },
        serverInfo: {},
      },
    });
  const server = createListenHandler(
    async (request: Request) =>
      (await request.text()).includes('discover') ? new Response(null, { status: 404 }) : behind(),
    { legacy: 'sessions' },
  );
  const session = await LegacySession.begin(sendTo(server));
  expect(session.initialized.result).toMatchObject({
    capabilities: { prompts: { listChanged: true } },
  });
  const stream = await session.open();
  await stream.event();
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  expect(await nextMessage(stream)).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

const EMPTY = { jsonrpc: '2.0', id: 7, result: {} };
