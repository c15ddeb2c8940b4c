import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { LegacySession } from '../../host/legacy.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { notebook } from '../sdk/notebook.ts';
import { listenRequest, open, refusal, streamOf, TOOLS, URL } from '../serving.ts';
import { sendTo } from '../sessions/serving.ts';

describe('capabilities', () => {
  test('come from server/discover, sent with the credentials of the caller', async () => {
    const asked: (string | null)[] = [];
    const handler = createMcpHandler(() => notebook());
    const server = createListenHandler((request: Request) => {
      asked.push(request.headers.get('mcp-method'), request.headers.get('authorization'));
      return handler.fetch(request);
    });
    const filter = { ...TOOLS, promptsListChanged: true, resourceSubscriptions: ['note://a'] };
    const stream = await open(server, filter, { headers: { authorization: 'Bearer t' } });
    expect(asked).toEqual(['server/discover', 'Bearer t']);
    expect(await stream.message()).toContain('"notifications":{"toolsListChanged":true}');
    void server.close();
    expect(await stream.message()).toContain(
      '"io.modelcontextprotocol/serverInfo":{"name":"notebook","version":"1.0.0"}',
    );
  });

  test('are read from an event stream too', async () => {
    const handler = createMcpHandler(() => notebook(), { responseMode: 'sse' });
    const stream = await open(createListenHandler(handler), TOOLS);
    expect(await stream.message()).toContain('"notifications":{"toolsListChanged":true}');
  });

  test.each([
    ['responds with 500', () => new Response('no', { status: 500 })],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
  ])('of a handler that %s: 503, and the next listen asks again', async (_name, broken) => {
    const onError = vi.fn();
    let isBroken = true;
    const handler = createMcpHandler(() => notebook());
    const server = createListenHandler(
      (request: Request) => (isBroken ? broken() : handler.fetch(request)),
      {
        onError,
      },
    );
    expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toEqual({
      status: 503,
      code: -32603,
      retryAfter: '2',
    });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'discover-failed' }));
    isBroken = false;
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  });

  test('given as an option are not requested', async () => {
    const handler = vi.fn(() => new Response());
    const server = createListenHandler(handler, { server: declaring(CAPABILITIES) });
    await server.fetch(listenRequest(TOOLS));
    expect(handler).not.toHaveBeenCalled();
    await server.fetch(new Request(URL));
    expect(handler).toHaveBeenCalledOnce();
  });

  test.each([
    { server: { capabilities: CAPABILITIES } },
    { server: { info: { name: 'tests' }, capabilities: CAPABILITIES } },
    { server: { info: { name: 'tests', version: '1' } } },
    { server: declaring(CAPABILITIES), advertise: 'all' },
    { advertise: 'offered' },
  ])('that are incomplete or contradictory are refused: %j', (options) => {
    expect(() => createListenHandler(() => new Response(), options as object)).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
  });
});

describe('legacy', () => {
  test('is the effective setting', () => {
    const bus = new InMemoryBus();
    const shared = Object.assign(new InMemoryBus(), {
      sessions: { ...bus.sessions, isShared: true },
    });
    const effective = (options: ListenHandlerOptions) =>
      createListenHandler(() => new Response(), options).legacy;
    expect(effective({ bus })).toBe('stateless');
    expect(effective({ bus: shared })).toBe('sessions');
    expect(effective({ bus: shared, listen: 'off' })).toBe('stateless');
    expect(effective({ bus: shared, legacy: 'reject' })).toBe('reject');
  });

  test('with an unknown value is refused', () => {
    expect(() =>
      createListenHandler(() => new Response(), { legacy: 'session' as 'sessions' }),
    ).toThrow(expect.objectContaining({ code: 'invalid-options' }));
  });
});

describe('capabilities at initialize', () => {
  test.each<[string, number, () => Response]>([
    ['fails with 404', 0, () => new Response('no', { status: 404 })],
    [
      'throws',
      1,
      () => {
        throw new Error('broken');
      },
    ],
    [
      'is cut off',
      1,
      () => new Response(new ReadableStream({ pull: (body) => body.error(new Error('cut')) })),
    ],
  ])(
    'come from the handler where server/discover %s; errors reported: %i',
    async (_name, reported, asked) => {
      const onError = vi.fn();
      const behind = createMcpHandler(() => notebook());
      const handler = (request: Request) =>
        request.headers.get('mcp-method') === 'server/discover' ? asked() : behind.fetch(request);
      const session = await LegacySession.begin(
        sendTo(createListenHandler(handler, { legacy: 'sessions', onError })),
      );
      expect(session.initialized.result).toMatchObject({ serverInfo: { name: 'notebook' } });
      expect(onError.mock.calls.map(([error]) => error.code)).toEqual(
        Array(reported).fill('discover-failed'),
      );
    },
  );
});

test('the response that announces them does not keep the framing of the handler', async () => {
  const behind = createMcpHandler(() => notebook());
  const server = createListenHandler(
    async (request: Request) => {
      const { body, headers } = await behind.fetch(request);
      const framed = new Headers([...headers, ['transfer-encoding', 'chunked']]);
      return new Response(body, { headers: framed });
    },
    { advertise: 'all' },
  );
  const response = await server.fetch(callRequest(URL, 'server/discover'));
  expect(await response.json()).toMatchObject({ result: { capabilities: { tools: {} } } });
  expect(response.headers.get('transfer-encoding')).toBeNull();
});

describe('discovered capabilities', () => {
  afterEach(() => vi.restoreAllMocks());

  test('are cached for ttlMs', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    const { asked, listen } = servedWith({ ttlMs: 60_000, cacheScope: 'public' });
    await listen('Bearer a');
    clock.mockReturnValue(60_999);
    await listen('Bearer b');
    expect(asked).toEqual(['Bearer a']);
    clock.mockReturnValue(61_000);
    await listen('Bearer c');
    expect(asked).toEqual(['Bearer a', 'Bearer c']);
  });

  test('are cached for an hour at most', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const { asked, listen } = servedWith({ ttlMs: 86_400_000, cacheScope: 'public' });
    await listen();
    clock.mockReturnValue(3_600_000);
    await listen();
    expect(asked).toHaveLength(2);
  });

  test.each([{ ttlMs: 0 }, {}])('are not cached with %o', async (freshness) => {
    const { asked, listen } = servedWith(freshness);
    for (let round = 0; round < 3; round += 1) await listen();
    expect(asked).toHaveLength(3);
  });

  test.each([{ cacheScope: 'private' }, {}])('are cached for one caller with %o', async (scope) => {
    const { asked, listen } = servedWith({ ttlMs: 60_000, ...scope });
    await listen('Bearer a');
    await listen('Bearer a');
    await listen('Bearer b');
    await listen('Bearer b', 'session=1');
    await listen('Bearer b', 'session=1');
    expect(asked).toEqual(['Bearer a', 'Bearer b', 'Bearer b']);
  });

  test('that are public are cached for their URL: a query of one caller changes no other', async () => {
    const server = createListenHandler((request: Request) => {
      const tools = request.url.endsWith('?empty') ? {} : { listChanged: true };
      const cached = { ttlMs: 60_000, cacheScope: 'public' };
      return Response.json({
        jsonrpc: '2.0',
        id: 1,
        result: { capabilities: { tools }, ...cached },
      });
    });
    const ack = async (query: string) => {
      const request = new Request(`${URL}${query}`, listenRequest(TOOLS));
      return (await streamOf(await server.fetch(request))).message();
    };
    expect(await ack('?empty')).toContain('"notifications":{}');
    expect(await ack('')).toContain('"notifications":{"toolsListChanged":true}');
    expect(await ack('?empty')).toContain('"notifications":{}');
  });

  test('are requested again, and only what they include is honored', async () => {
    const members = { ttlMs: 0, capabilities: { tools: { listChanged: true } } };
    const { listen } = servedWith(members);
    expect(await listen()).toContain('"notifications":{"toolsListChanged":true}');
    members.capabilities.tools.listChanged = false;
    expect(await listen()).toContain('"notifications":{}');
  });

  test('are requested by each of several concurrent listens', async () => {
    const { asked, listen } = servedWith({ ttlMs: 60_000 });
    const acks = await Promise.all([listen(), listen(), listen()]);
    expect(new Set(acks)).toHaveLength(1);
    expect(asked).toHaveLength(3);
    await listen();
    expect(asked).toHaveLength(3);
  });
});

test('capabilities of many queries and callers do not replace those of a path', async () => {
  const asked: string[] = [];
  const server = createListenHandler((request: Request) => {
    asked.push(request.url.slice(URL.length));
    const cacheScope = request.headers.has('authorization') ? 'private' : 'public';
    const capabilities = { tools: { listChanged: true } };
    const result = { capabilities, ttlMs: 60_000, cacheScope };
    return Response.json({ jsonrpc: '2.0', id: 1, result });
  });
  const listen = async (query: string, headers = {}) =>
    (await server.fetch(new Request(`${URL}${query}`, listenRequest(TOOLS, { headers })))).status;
  expect(await listen('')).toBe(200);
  for (let count = 0; count < 20; count += 1) expect(await listen(`?x=${count}`)).toBe(200);
  for (let count = 0; count < 20; count += 1)
    expect(await listen('?of=callers', { authorization: `Bearer ${count}` })).toBe(200);
  expect(await listen('')).toBe(200);
  expect(asked.filter((query) => query === '')).toHaveLength(1);
});

/** A server with these members in `server/discover`; `listen` returns the acknowledgment. */
function servedWith(members: object) {
  const asked: string[] = [];
  const server = createListenHandler((request: Request) => {
    asked.push(request.headers.get('authorization') ?? '');
    const capabilities = { tools: { listChanged: true } };
    return Response.json({ jsonrpc: '2.0', id: 1, result: { capabilities, ...members } });
  });
  const listen = async (authorization = '', cookie = '') =>
    (await open(server, TOOLS, { headers: { authorization, cookie } })).message();
  return { asked, listen };
}
