import { createListenHandler } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { listenRequest, serving, TOOLS, URL } from '../serving.ts';

const PAGE = 'http://localhost:3000';
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate, Retry-After';

/** Sends a request of a page; the handler behind responds with `given`. */
function asked(given: Response, origin = PAGE): Promise<Response> {
  const server = createListenHandler(() => given, { server: declaring(CAPABILITIES) });
  return server.fetch(new Request(URL, { headers: { origin } }));
}

describe('a page of an allowed origin', () => {
  test('may read the response of the handler', async () => {
    const given = new Response('x', {
      status: 418,
      statusText: 'Teapot',
      headers: { 'x-handler': 'yes' },
    });
    const response = await asked(given);
    expect([response.status, response.statusText, await response.text()]).toEqual([
      418,
      'Teapot',
      'x',
    ]);
    expect(Object.fromEntries(response.headers)).toEqual({
      'access-control-allow-origin': PAGE,
      'access-control-expose-headers': EXPOSED,
      'content-type': 'text/plain;charset=UTF-8',
      vary: 'Origin',
      'x-handler': 'yes',
    });
  });

  test('may read a response without a body, and one with immutable header fields', async () => {
    expect((await asked(new Response(null, { status: 204 }))).headers.get('vary')).toBe('Origin');
    const redirect = await asked(Response.redirect('http://localhost/other'));
    expect(redirect.status).toBe(302);
    expect(redirect.headers.get('access-control-allow-origin')).toBe(PAGE);
  });

  test('may read streams and refusals', async () => {
    const server = serving({ limits: { maxSubscriptions: 1 } });
    const ask = (filter: unknown) =>
      server.fetch(listenRequest(filter, { headers: { origin: PAGE } }));
    const responses = [await ask(TOOLS), await ask(TOOLS), await ask(7)];
    expect(responses.map(({ status }) => status)).toEqual([200, 503, 400]);
    for (const { headers } of responses) {
      expect(headers.get('access-control-allow-origin')).toBe(PAGE);
      expect(headers.get('access-control-expose-headers')).toBe(EXPOSED);
      expect(headers.get('vary')).toBe('Origin');
    }
  });

  test('gets the CORS header fields that the handler has set itself', async () => {
    const own = {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'X-Own',
      vary: 'Accept',
    };
    const response = await asked(new Response(null, { headers: own }));
    expect(Object.fromEntries(response.headers)).toEqual({ ...own, vary: 'Accept, Origin' });
    for (const vary of ['*', 'accept, ORIGIN']) {
      expect((await asked(new Response(null, { headers: { vary } }))).headers.get('vary')).toBe(
        vary,
      );
    }
  });
});

test('a request of no foreign page gets the very Response of the handler', async () => {
  const given = new Response('x');
  expect(await asked(given, 'http://localhost')).toBe(given);
  const server = createListenHandler(() => given, { server: declaring(CAPABILITIES) });
  expect(await server.fetch(new Request(URL))).toBe(given);
});

test('the handler receives neither refused requests nor preflights', async () => {
  const handler = vi.fn(() => new Response());
  const server = createListenHandler(handler, { server: declaring(CAPABILITIES) });
  const send = (method: string, headers: Record<string, string>) =>
    server.fetch(new Request(URL, { method, headers }));
  expect((await send('PUT', {})).status).toBe(405);
  expect((await send('GET', { origin: 'http://evil.example' })).status).toBe(403);
  expect(
    (await send('OPTIONS', { origin: PAGE, 'access-control-request-method': 'POST' })).status,
  ).toBe(204);
  expect(handler).not.toHaveBeenCalled();
});

describe('a body is not read', () => {
  test.each([
    ['that is announced as too large', { ...LISTEN_HEADERS, 'content-length': '65537' }, 413],
    ['of a foreign page', { ...LISTEN_HEADERS, origin: 'http://evil.example' }, 403],
  ])('%s', async (_name, headers, status) => {
    const { cancel, pull, request } = streaming(headers);
    expect((await serving().fetch(request)).status).toBe(status);
    expect(pull).not.toHaveBeenCalled();
    expect(cancel).toHaveBeenCalledOnce();
  });

  test('beyond the limit', async () => {
    const { cancel, pull, request } = streaming(LISTEN_HEADERS);
    expect((await serving().fetch(request)).status).toBe(413);
    expect(pull.mock.calls.length).toBeLessThanOrEqual(9);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test('of a large request that is no listen, which the handler gets untouched', async () => {
    let given: Request | undefined;
    const server = createListenHandler((request: Request) => {
      given = request;
      return new Response();
    });
    const { pull, request } = streaming({
      'content-type': 'application/json',
      'content-length': '65537',
    });
    await server.fetch(request);
    expect(given).toBe(request);
    expect(pull).not.toHaveBeenCalled();
  });
});

test('a body with another reader is not cancelled', async () => {
  const { cancel, request } = streaming({ ...LISTEN_HEADERS, origin: 'http://evil.example' });
  request.body?.getReader();
  expect((await serving().fetch(request)).status).toBe(403);
  expect(cancel).not.toHaveBeenCalled();
});

/** A request whose body never ends, 8 KiB at a time. */
function streaming(headers: Record<string, string>) {
  const cancel = vi.fn();
  const pull = vi.fn((controller: ReadableStreamDefaultController) =>
    controller.enqueue(new Uint8Array(8_192)),
  );
  const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  const request = new Request(URL, {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as RequestInit);
  return { cancel, pull, request };
}

test('a million nested arrays are refused within 5 ms', async () => {
  const server = serving({ limits: { maxRequestBodySize: 4_000_000 } });
  const statuses = new Set<number>();
  const refused = async () => {
    const body = '['.repeat(1_000_000) + listenBody({});
    const request = new Request(URL, { method: 'POST', headers: LISTEN_HEADERS, body });
    const started = performance.now();
    statuses.add((await server.fetch(request)).status);
    return performance.now() - started;
  };
  // The best of many: the machine may be busy.
  await expect.poll(refused).toBeLessThan(5);
  expect([...statuses]).toEqual([400]);
});

test.each([
  ['an origin without a scheme', { allowedOrigins: ['app.example'] }],
  ['two origins in one text', { allowedOrigins: ['https://a.example\nhttps://b.example'] }],
  ['an empty origin', { allowedOrigins: [''] }],
  ['a text instead of a list', { allowedOrigins: '*' as unknown as string[] }],
  ['a host with a scheme', { allowedHosts: ['https://mcp.example'] }],
  ['a host that is no text', { allowedHosts: [7 as unknown as string] }],
])('the server refuses %s', (_name, options) => {
  expect(() => serving(options)).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});
