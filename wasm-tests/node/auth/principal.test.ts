import { type AuthorizeContext, createListenHandler, type Principal } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { initialize, LegacySession, type Send } from '../../host/legacy.ts';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { FAILING, listenRequest, open, refusal, serving, TOOLS, URL } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';

const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };
const ANN = { 'x-user': 'ann' };
const INIT: RequestInit = { method: 'POST', headers: { 'content-type': 'application/json' } };

/** Names the caller by a header field, and denies requests without it. */
const principal: Principal = (request) =>
  request.headers.get('x-user') ?? { denied: 401, wwwAuthenticate: 'Bearer' };

describe('a listen', () => {
  test('calls principal once, and passes its name to authorize', async () => {
    const named = vi.fn(principal);
    const asked: unknown[] = [];
    const authorize = ({ principal, requested }: AuthorizeContext) => {
      asked.push([principal, requested]);
      return requested;
    };
    const server = serving({ principal: named, authorize });
    expect((await server.fetch(listenRequest(TOOLS, { headers: ANN }))).status).toBe(200);
    expect(named).toHaveBeenCalledOnce();
    expect(asked).toEqual([['ann', TOOLS]]);
  });

  test('of an anonymous caller is served', async () => {
    const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
    const stream = await open(serving({ principal: () => undefined, authorize }), TOOLS);
    expect(await stream.message()).toContain('acknowledged');
    expect(authorize).toHaveBeenCalledWith(expect.objectContaining({ principal: undefined }));
  });

  test('of an anonymous caller may pass claims to authorize', async () => {
    const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
    const claims = { plan: 'free' };
    const stream = await open(
      serving({ principal: () => ({ claims }), authorize, onError: () => {} }),
      TOOLS,
    );
    expect(await stream.message()).toContain('acknowledged');
    expect(authorize).toHaveBeenCalledWith(
      expect.objectContaining({ principal: undefined, claims }),
    );
  });

  test.each([401, 403] as const)('is denied with %s before its body is read', async (denied) => {
    const authorize = vi.fn(() => ({}));
    const server = serving({
      principal: async () => ({ denied, wwwAuthenticate: 'Bearer' }),
      authorize,
    });
    const response = await server.fetch(listenRequest(TOOLS));
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.clone().text()).not.toContain('"id"');
    expect(await refusal(response)).toEqual({ status: denied, code: -32_600, retryAfter: null });
    expect(authorize).not.toHaveBeenCalled();
  });
});

describe('principal', () => {
  test('is not called for a listen that HTTP alone refuses', async () => {
    const named = vi.fn(principal);
    const server = serving({ principal: named });
    const statuses = [];
    for (const init of [
      { headers: { 'content-type': 'text/plain' } },
      { headers: { accept: 'text/html' } },
      { headers: { 'content-length': '65537' } },
      { headers: { origin: 'http://evil.example' } },
    ]) {
      const request = new Request(URL, {
        method: 'POST',
        headers: { ...LISTEN_HEADERS, ...init.headers },
        body: '{',
      });
      statuses.push((await server.fetch(request)).status);
    }
    expect(statuses).toEqual([415, 406, 413, 403]);
    expect(named).not.toHaveBeenCalled();
  });

  test.each(failures())('that %s gives 503 without details', async (_name, principal, code) => {
    const onError = vi.fn();
    const server = serving({ principal, onError, timeouts: { authorizeMs: 20 } });
    const response = await server.fetch(listenRequest(TOOLS));
    expect(await response.clone().text()).not.toMatch(/secret|"id"/);
    expect(await refusal(response)).toEqual({ status: 503, code: -32_603, retryAfter: '2' });
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code }));
  });

  test('reports no error after its client has left', async () => {
    const onError = vi.fn();
    const abort = new AbortController();
    const principal = async () => {
      abort.abort();
      throw new Error('gone');
    };
    await serving({ principal, onError }).fetch(listenRequest(TOOLS, { signal: abort.signal }));
    expect(onError).not.toHaveBeenCalled();
  });
});

describe('a request that is neither a listen nor part of a session', () => {
  test.each([
    ['a tool list', {}, { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['a ping', {}, PING],
    ['an envelope of 2026-07-28 with a session id', { 'mcp-session-id': 'x' }, enveloped()],
  ])('%s reaches the handler, and principal is not called', async (_name, headers, message) => {
    const named = vi.fn(principal);
    const handler = vi.fn(() => new Response());
    const { fetch } = createListenHandler(handler, { principal: named, legacy: 'sessions' });
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    await fetch(new Request(URL, { ...INIT, headers: { ...INIT.headers, ...headers }, body }));
    expect(handler).toHaveBeenCalledOnce();
    expect(named).not.toHaveBeenCalled();
  });
});

describe('a session', () => {
  test('calls principal once per request', async () => {
    const named = vi.fn(principal);
    const { send } = sessionServer({ principal: named });
    const session = await LegacySession.begin(send, ANN);
    expect(named).toHaveBeenCalledTimes(2);
    for (const message of [PING, { ...PING, method: 'tools/list' }, subscribing('a')]) {
      named.mockClear();
      expect((await session.post(message, ANN)).status).toBe(200);
      expect(named).toHaveBeenCalledOnce();
    }
    named.mockClear();
    expect((await session.get(ANN)).status).toBe(200);
    expect(named).toHaveBeenCalledOnce();
  });

  test('passes the name to authorize for each stream and each subscribe', async () => {
    const authorize = vi.fn(({ requested }: AuthorizeContext) => requested);
    const { send } = sessionServer({ principal, authorize });
    const session = await LegacySession.begin(send, ANN);
    await session.post(subscribing('a'), ANN);
    await session.get(ANN);
    expect(authorize.mock.calls.map(([{ principal }]) => principal)).toEqual(['ann', 'ann']);
  });

  test.each<[string, (send: Send, session: Named) => Promise<Response>]>([
    ['initialize', (send) => posted(send, initialize('2025-11-25'))],
    ['an invalid initialize', (send) => posted(send, { ...initialize('2025-11-25'), id: null })],
    ['a batch', (send) => posted(send, [PING])],
    ['a subscribe without a session', (send) => posted(send, subscribing('a'))],
    ...inSession(),
  ])('is denied before it is inspected: %s', async (_name, ask) => {
    const { send } = sessionServer({ principal });
    const { id } = await LegacySession.begin(send, ANN);
    const response = await ask(send, { 'mcp-session-id': id });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.clone().text()).not.toContain('"id"');
    expect(await refusal(response)).toMatchObject({ status: 401, code: -32_600 });
  });
});

describe('a request in a session', () => {
  test.each(inSession())(
    'with an unknown id is refused before principal is called: %s',
    async (_name, ask) => {
      const named = vi.fn(principal);
      const response = await ask(sessionServer({ principal: named }).send, {
        'mcp-session-id': 'x',
      });
      expect(await refusal(response)).toMatchObject({ status: 404, code: -32_001 });
      expect(named).not.toHaveBeenCalled();
    },
  );

  test.each([
    ['of another method', { method: 'PUT', body: '{}' }, 405],
    [
      'of a foreign page',
      { headers: { origin: 'http://evil.example', 'mcp-session-id': 'x' } },
      403,
    ],
    ['that accepts no stream', { headers: { accept: 'text/html', 'mcp-session-id': 'x' } }, 406],
  ])(
    'is refused by HTTP alone before principal is called: a request %s',
    async (_name, init, status) => {
      const named = vi.fn(principal);
      expect((await sessionServer({ principal: named }).send(init)).status).toBe(status);
      expect(named).not.toHaveBeenCalled();
    },
  );

  test.each(failures())(
    'gets 503 without details where principal %s',
    async (_name, principal, code) => {
      const onError = vi.fn();
      const { send } = sessionServer({ principal, onError, timeouts: { authorizeMs: 20 } });
      const response = await posted(send, initialize('2025-11-25'));
      expect(await response.clone().text()).not.toMatch(/secret|"id"/);
      expect(await refusal(response)).toMatchObject({ status: 503, code: -32_603 });
      expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code }));
    },
  );
});

test('principal cannot consume the body of a request', async () => {
  const bodies: string[] = [];
  const reading: Principal = async (request) => {
    bodies.push(await request.text());
    return request.headers.get('x-user') ?? undefined;
  };
  expect((await serving({ principal: reading }).fetch(listenRequest(TOOLS))).status).toBe(200);
  const { send } = sessionServer({ principal: reading });
  const session = await LegacySession.begin(send, ANN);
  const large = { ...PING, method: 'tools/list', params: { x: 'x'.repeat(70_000) } };
  const response = await session.post(large, ANN);
  expect(await response.text()).toContain('hello');
  const announced = { ...ANN, 'content-length': String(JSON.stringify(large).length) };
  expect(await (await session.post(large, announced)).text()).toContain('hello');
  expect(bodies.join('')).toBe('');
});

function failures(): [name: string, principal: Principal, code: string][] {
  return [
    ...FAILING,
    ['returns null', () => null as unknown as undefined, 'authorizer-failed'],
    ['returns a number', () => 7 as unknown as string, 'authorizer-failed'],
    [
      'returns an unknown object',
      () => ({ user: 'ann' }) as unknown as string,
      'authorizer-failed',
    ],
  ];
}

/** The header field that names a session. */
type Named = Record<string, string>;

/** Requests in a session. */
function inSession(): [name: string, ask: (send: Send, session: Named) => Promise<Response>][] {
  const latin1 = { 'content-type': 'application/json; charset=latin1' };
  return [
    ['invalid JSON', (send, session) => posted(send, '{', session)],
    ['a ping', (send, session) => posted(send, PING, session)],
    [
      'an unknown version',
      (send, session) => posted(send, PING, { ...session, 'mcp-protocol-version': 'y' }),
    ],
    ['a DELETE', (send, session) => send({ method: 'DELETE', headers: session })],
    ['a stream', (send, session) => send({ headers: { accept: 'text/event-stream', ...session } })],
    [
      'plain text',
      (send, session) => posted(send, 'x', { 'content-type': 'text/plain', ...session }),
    ],
    ['another charset', (send, session) => posted(send, PING, { ...latin1, ...session })],
    ['another method', (send, session) => send({ method: 'OPTIONS', headers: session })],
  ];
}

function posted(
  send: Send,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return send({ ...INIT, headers: { ...INIT.headers, ...headers }, body });
}

function subscribing(uri: string): object {
  return { jsonrpc: '2.0', id: 3, method: 'resources/subscribe', params: { uri } };
}

function enveloped(): unknown {
  return { ...(JSON.parse(listenBody({})) as object), method: 'tools/list' };
}
