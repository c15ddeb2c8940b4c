import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { initialize, LegacySession, post } from '../../host/legacy.ts';
import { declaring } from '../../host/options.ts';
import { INITIALIZED } from '../../host/servers/behind.ts';
import { refusal } from '../serving.ts';
import { sdkServer, sendTo, sessionServer } from './serving.ts';

test('initialize gets the response of the upstream server, with a session id and its capabilities', async () => {
  const { send } = sessionServer({
    server: declaring({ tools: { listChanged: true }, resources: { subscribe: true } }),
  });
  const response = await post(send, initialize('2025-11-25'));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
      serverInfo: { name: 'behind', version: '1.2.3' },
      instructions: 'Ask me.',
    },
  });
});

test.each([
  ['2025-11-25', '2025-11-25'],
  ['2025-06-18', '2025-06-18'],
  ['2025-03-26', '2025-03-26'],
  ['2026-07-28', '2025-11-25'],
  ['1999-01-01', '2025-11-25'],
])('a client that requests version %s gets %s', async (requested, version) => {
  const { send } = sessionServer();
  const response = await post(send, initialize(requested));
  expect(await response.json()).toMatchObject({ result: { protocolVersion: version } });
});

test('the id of a session cannot be guessed: 122 of its bits are random', async () => {
  const { send } = sessionServer({ limits: { sessions: 1_000, sessionsPerPrincipal: 1_000 } });
  const ids: bigint[] = [];
  for (let count = 0; count < 400; count += 1) {
    const { headers } = await post(send, initialize('2025-11-25'));
    ids.push(BigInt(`0x${headers.get('mcp-session-id')?.replaceAll('-', '')}`));
  }
  expect(new Set(ids).size).toBe(400);
  const changed = ids.slice(1).map((id, index) => id ^ (ids[index] ?? 0n));
  const random = Array.from({ length: 128 }, (_, bit) => BigInt(bit)).filter(
    (bit) => evenly(ids, bit) && evenly(changed, bit),
  );
  expect(random.length).toBe(122);
});

/**
 * Whether a bit is set in half of some 400 numbers: in 200, give or take six times the standard
 * deviation of 10.
 */
function evenly(numbers: bigint[], bit: bigint): boolean {
  const count = numbers.filter((number) => (number >> bit) & 1n).length;
  return count > 140 && count < 260;
}

test('a handler without sessions gets no session id', async () => {
  const seen: Request[] = [];
  const handler = createMcpHandler(() => sdkServer());
  const watched = (request: Request) => {
    seen.push(request);
    return handler.fetch(request);
  };
  const session = await LegacySession.begin(
    sendTo(createListenHandler(watched, { legacy: 'sessions' })),
  );
  expect(await session.ask('tools/list')).toMatchObject({ result: { tools: [{ name: 'hello' }] } });
  const fields = { mcp_session_id: session.id, 'last-event-id': '7' };
  expect((await session.post({ jsonrpc: '2.0', id: 8, method: 'tools/list' }, fields)).status).toBe(
    200,
  );
  expect(
    seen.map(({ headers }) =>
      [...headers].filter(([, value]) => value === session.id || value === '7'),
    ),
  ).toEqual(seen.map(() => []));
});

test('the SDK behind serves the other requests of a session', async () => {
  const session = await LegacySession.begin(sessionServer().send);
  expect(await session.ask('tools/call', { name: 'hello' })).toMatchObject({
    result: { content: [{ text: 'Hello.' }] },
  });
  expect(await session.ask('resources/list')).toMatchObject({
    result: { resources: [{ uri: 'note://a' }] },
  });
  expect(await session.ask('ping')).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
});

test('a session carries nothing of 2026-07-28 on the wire', async () => {
  const { send } = sessionServer();
  const session = await LegacySession.begin(send);
  for (const method of ['ping', 'tools/list', 'resources/list', 'resources/subscribe']) {
    const text = JSON.stringify(await session.ask(method, { uri: 'note://a' }));
    expect(text).not.toMatch(/io\.modelcontextprotocol|resultType|ttlMs|cacheScope/);
  }
});

test('a principal that throws is reported, and gives 503 without details', async () => {
  const onError = vi.fn();
  const principal = () => Promise.reject(new Error('secret'));
  const response = await post(sessionServer({ principal, onError }).send, initialize('2025-11-25'));
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain('secret');
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'authorizer-failed' }));
});

test('requests without a session reach the upstream server', async () => {
  const { send } = sessionServer();
  const response = await post(send, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect(await response.text()).toContain('hello');
  expect((await send({ method: 'GET', headers: { accept: 'text/event-stream' } })).status).toBe(
    405,
  );
  expect((await send({ method: 'DELETE' })).status).toBe(405);
});

test('an idle session expires, and makes room for another', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const { send, bus } = sessionServer({
    limits: { sessions: 1 },
    timeouts: { sessionIdleMs: 1_000 },
  });
  const session = await LegacySession.begin(send);
  expect(await refusal(await post(send, initialize('2025-11-25')))).toEqual({
    status: 503,
    code: -32_603,
    retryAfter: '2',
  });
  now.mockReturnValue(1_000);
  expect((await session.post(ping())).status).toBe(200);
  now.mockReturnValue(2_001);
  await LegacySession.begin(send);
  expect((await session.post(ping())).status).toBe(404);
  expect(bus.sessions.size).toBe(1);
  now.mockRestore();
});

test.each<[string, number, (bus: InMemoryBus) => void]>([
  ['for which there is no room', 0, () => {}],
  [
    'that the bus does not begin',
    1,
    (bus) => void vi.spyOn(bus.sessions, 'begin').mockRejectedValue(new Error('away')),
  ],
])('a session %s ends at the upstream server too', async (_, sessions, prepare) => {
  const ended: Request[] = [];
  const handler = (request: Request) => {
    if (request.method === 'POST')
      return new Response(INITIALIZED, {
        headers: { 'content-type': 'application/json', 'mcp-session-id': 'upstream' },
      });
    ended.push(request);
    return new Response(null, { status: 204 });
  };
  const bus = new InMemoryBus();
  prepare(bus);
  const server = createListenHandler(handler, {
    ...{ bus, legacy: 'sessions', limits: { sessions }, onError: () => {} },
    server: declaring({}),
  });
  const init = initialize('2025-11-25');
  const response = await post(sendTo(server), init, { authorization: 'Bearer ann' });
  expect(response.status).toBe(503);
  expect(response.headers.has('mcp-session-id')).toBe(false);
  expect(ended.map(({ method }) => method)).toEqual(['DELETE']);
  expect(Object.fromEntries(ended[0]?.headers ?? [])).toMatchObject({
    ...{ authorization: 'Bearer ann', 'mcp-session-id': 'upstream' },
  });
});

test('by default, InMemoryBus leaves earlier revisions to the upstream server', async () => {
  const server = createListenHandler(createMcpHandler(() => sdkServer()));
  const response = await post(sendTo(server), initialize('2025-11-25'));
  expect(response.status).toBe(200);
  expect(response.headers.get('mcp-session-id')).toBeNull();
});

test('earlier revisions can be refused', async () => {
  const { send } = sessionServer({ legacy: 'reject' });
  const response = await post(send, initialize('2025-11-25'));
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: {
      code: -32_022,
      message: 'Unsupported protocol version',
      data: { supported: ['2026-07-28'], requested: '2025-11-25' },
    },
  });
});

function ping(): object {
  return { jsonrpc: '2.0', id: 2, method: 'ping' };
}
