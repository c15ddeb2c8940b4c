import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  createListenHandler,
  InMemoryBus,
  type ListenHandler,
  type ListenHandlerOptions,
} from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { listChange, nextMessage } from '../../host/legacy.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { BUSES } from '../bus/breakable-bus.ts';
import { listenRequest, open, refusal, serving, streamOf, TOOLS } from '../serving.ts';
import { sdkServer, sessionServer, sessionStream } from '../sessions/serving.ts';

const CUE = listChanged('1', 'tools');
const PROMPTS = { promptsListChanged: true };

/** Names callers by a header field, `NAME@GROUP`. */
const principal: ListenHandlerOptions['principal'] = (request) => {
  const [name, ...groups] = (request.headers.get('x-user') ?? '').split('@');
  return name === '' ? undefined : { name, groups };
};

async function opened(
  server: ListenHandler,
  user: string,
  filter: object = TOOLS,
): Promise<WireStream> {
  const headers = user === '' ? {} : { 'x-user': user };
  const stream = await open(server, filter, { headers });
  await stream.message();
  return stream;
}

describe.each(BUSES)('on %s', (_, newBus) => {
  test('an event for a group reaches only its callers', async () => {
    const server = serving({ bus: newBus(), principal });
    const filter = { ...TOOLS, ...PROMPTS };
    const streams = await Promise.all(
      ['ann@acme', 'ben@acme@bolt', 'cid@bolt', 'dan', ''].map((user) =>
        opened(server, user, filter),
      ),
    );
    await server.notify.toolsChanged({ group: 'acme' });
    await server.notify.promptsChanged();
    const first = await Promise.all(streams.map((stream) => stream.message()));
    const [yes, no] = [CUE, listChanged('1', 'prompts')];
    expect(first).toEqual([yes, yes, no, no, no]);
  });

  test('a filter cannot request a group', async () => {
    const server = serving({ bus: newBus(), principal });
    const stream = await opened(server, '', {
      ...TOOLS,
      ...PROMPTS,
      groups: ['acme'],
      principals: ['ann'],
    });
    await server.notify.toolsChanged({ group: 'acme' });
    await server.disconnect('ann');
    await server.notify.promptsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  });

  test('authorize can set the groups of a caller', async () => {
    const authorize: ListenHandlerOptions['authorize'] = ({ groups, requested }) => ({
      ...requested,
      groups: groups?.includes('acme') ? ['acme-admins'] : [],
    });
    const server = serving({ bus: newBus(), principal, authorize });
    const [ann, ben] = [await opened(server, 'ann@acme'), await opened(server, 'ben@bolt')];
    await server.notify.toolsChanged({ group: 'bolt' });
    await server.notify.toolsChanged({ group: 'acme-admins' });
    expect(await ann.message()).toBe(CUE);
    expect(server.stats()).toMatchObject({ notifications: 1 });
    await server.close();
    expect(await ben.message()).toContain('"result"');
  });

  test('a caller that loses a group receives nothing more', async () => {
    let groups = ['acme'];
    const authorize: ListenHandlerOptions['authorize'] = ({ requested }) => ({
      ...requested,
      groups,
    });
    const server = serving({ bus: newBus(), principal, authorize, authorizationTtlMs: 1 });
    const stream = await opened(server, 'ann');
    groups = [];
    await new Promise((resolve) => setTimeout(resolve, 20));
    await server.notify.toolsChanged({ group: 'acme' });
    expect(await stream.message()).toBeUndefined();
    expect(server.stats()).toMatchObject({ notifications: 0, ended: { denied: 1 } });
  });

  test('disconnect ends all streams of a caller without a result, and no others', async () => {
    const server = serving({ bus: newBus(), principal });
    const streams = await Promise.all(['ann', 'ann', 'ben'].map((user) => opened(server, user)));
    await server.disconnect('ann');
    expect(await streams[0]?.message()).toBeUndefined();
    expect(await streams[1]?.message()).toBeUndefined();
    await server.notify.toolsChanged();
    expect(await streams[2]?.message()).toBe(CUE);
    expect(server.stats()).toMatchObject({ open: 1, ended: { denied: 2, closed: 0 } });
  });
});

describe.each(BUSES)('the limit of a caller on %s', (_, newBus) => {
  test.each([-1, 0, 1])('is 16 streams: 16 plus %i', async (beyond) => {
    const server = serving({ bus: newBus(), principal });
    const users = Array.from({ length: 15 + beyond }, () => 'ann');
    const streams = await Promise.all(users.slice(0, 16).map((user) => opened(server, user)));
    const response = await server.fetch(listenRequest(TOOLS, { headers: { 'x-user': 'ann' } }));
    expect(response.status).toBe(beyond === 1 ? 429 : 200);
    if (beyond < 1) return;
    expect(await refusal(response)).toEqual({ status: 429, code: -32_603, retryAfter: '2' });
    expect(
      (await server.fetch(listenRequest(TOOLS, { headers: { 'x-user': 'ben' } }))).status,
    ).toBe(200);
    await server.disconnect('ann');
    expect(await streams[0]?.message()).toBeUndefined();
    await opened(server, 'ann');
  });

  test('does not apply to an anonymous caller', async () => {
    const server = serving({
      bus: newBus(),
      principal,
      limits: { maxSubscriptionsPerPrincipal: 1 },
    });
    for (let count = 0; count < 3; count += 1) await opened(server, '');
    expect(server.stats().open).toBe(3);
  });
});

test('the stream of a session receives the events of its groups, and ends on disconnect', async () => {
  const { send, server } = sessionServer({ principal });
  const user = { 'x-user': 'ann@acme' };
  const { session, stream } = await sessionStream(send, user);
  await server.notify.resourcesChanged({ group: 'bolt' });
  await server.notify.toolsChanged({ group: 'acme' });
  expect(await nextMessage(stream)).toEqual(listChange('tools'));
  await server.disconnect('ann');
  expect(await stream.event()).toBeUndefined();
  // A stream that opens again receives later events, and not the earlier disconnect.
  const again = await streamOf(await session.get(user));
  await again.event();
  await server.notify.toolsChanged();
  expect(await nextMessage(again)).toEqual(listChange('tools'));
});

test('a server of the SDK on the same bus ignores events for a group, and disconnects', async () => {
  const bus = new InMemoryBus();
  const handler = createMcpHandler(() => sdkServer(), { bus });
  const stream = await open(handler, { ...TOOLS, resourcesListChanged: true });
  await stream.message();
  const { disconnect, notify } = createListenHandler(() => new Response(), {
    bus,
    server: declaring(CAPABILITIES),
  });
  await notify.toolsChanged({ group: 'acme' });
  await disconnect('ann');
  await notify.resourcesChanged();
  expect(await stream.message()).toContain('resources/list_changed');
});

test.each(['', 'a\nb', 'x'.repeat(2_049)])(
  'an invalid name is refused as a principal and as a group',
  async (name) => {
    const server = serving({ bus: new InMemoryBus({ onError: () => {} }) });
    await expect(server.disconnect(name)).rejects.toMatchObject({ code: 'invalid-principal' });
    await expect(server.notify.toolsChanged({ group: name })).rejects.toMatchObject({
      code: 'invalid-group',
    });
  },
);
