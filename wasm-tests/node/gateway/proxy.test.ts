import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createProxy } from 'mcp-listen';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { pause } from '../../host/pause.ts';
import { portOf } from '../../host/port.ts';

type Responder = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const HEADERS = {
  'content-type': 'application/json',
  'mcp-method': 'tools/call',
  authorization: 'Bearer t',
  origin: 'https://app.example',
  'sec-fetch-site': 'cross-site',
  te: 'trailers',
  'proxy-authorization': 'Basic x',
  'x-forwarded-for': '6.6.6.6',
  'x-forwarded-host': 'evil.example',
  forwarded: 'for=6.6.6.6',
  'accept-encoding': 'gzip',
};
/** The header fields among them that do not reach the upstream. */
const REMOVED = [
  'origin',
  'sec-fetch-site',
  'te',
  'proxy-authorization',
  'x-forwarded-for',
  'forwarded',
];

/** An upstream server, at `/mcp?key=1`. */
async function origin(respond: Responder): Promise<string> {
  const server = createServer(respond);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${portOf(server)}/mcp`;
}

function ask(
  handler: (request: Request) => Promise<Response>,
  init: RequestInit = {},
): Promise<Response> {
  return handler(
    new Request('https://gateway.example:8443/acme/mcp?profile=a', {
      method: 'POST',
      body: '{}',
      ...init,
    }),
  );
}

describe('a request', () => {
  test('reaches the upstream without header fields of the connection, the host and the page', async () => {
    let seen: IncomingMessage | undefined;
    let body = '';
    const url = await origin((incoming, outgoing) => {
      seen = incoming;
      incoming.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      incoming.on('end', () => outgoing.end('{}'));
    });
    expect(
      (await ask(createProxy(`${url}?key=1`), { headers: HEADERS, body: '{"ä":1}' })).status,
    ).toBe(200);
    expect([seen?.method, seen?.url, body]).toEqual(['POST', '/mcp?key=1&profile=a', '{"ä":1}']);
    expect(seen?.headers).toMatchObject({
      'content-type': 'application/json',
      'mcp-method': 'tools/call',
      authorization: 'Bearer t',
      host: new URL(url).host,
      'x-forwarded-host': 'gateway.example:8443',
      'x-forwarded-proto': 'https',
      'accept-encoding': 'identity',
    });
    for (const name of REMOVED) {
      expect(seen?.headers, name).not.toHaveProperty(name);
    }
  });

  test('is sent with the given fetch, and hop-by-hop header fields are removed', async () => {
    const requests: Request[] = [];
    const fetch = (request: Request) => {
      requests.push(request);
      return Promise.resolve(
        new Response(null, {
          status: 202,
          headers: { connection: 'x-hop', 'x-hop': '1', 'x-own': '2' },
        }),
      );
    };
    const response = await ask(createProxy('https://origin.example/mcp', { fetch }));
    expect(requests.map(({ url, redirect }) => [url, redirect])).toEqual([
      ['https://origin.example/mcp?profile=a', 'manual'],
    ]);
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      202,
      { 'x-own': '2' },
    ]);
  });

  test('is aborted upstream when its client leaves', async () => {
    const gone = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const url = await origin((_incoming, outgoing) => {
      arrived.resolve();
      outgoing.once('close', () => gone.resolve());
    });
    const errors: Error[] = [];
    const abort = new AbortController();
    const pending = ask(createProxy(url, { onError: (error) => errors.push(error) }), {
      signal: abort.signal,
    });
    await arrived.promise;
    abort.abort();
    await gone.promise;
    await pending;
    expect(errors).toEqual([]);
  });
});

test.each([
  ['from the network of Cloudflare', { colo: 'FRA' }, {}, '6.6.6.6'],
  ['not from another runtime', { clientIp: '127.0.0.1:1' }, {}, null],
  ['not without a runtime', undefined, {}, null],
  ['from the option clientIp', undefined, { clientIp: () => '7.7.7.7' }, '7.7.7.7'],
])('the address of the client is forwarded: %s', async (_name, cf, options, expected) => {
  const forwarded: (string | null)[] = [];
  const fetch = (request: Request) => {
    forwarded.push(request.headers.get('x-forwarded-for'), request.headers.get('cf-connecting-ip'));
    return Promise.resolve(new Response());
  };
  const request = new Request('https://gateway.example/mcp', {
    headers: { 'cf-connecting-ip': '6.6.6.6' },
  });
  await createProxy('https://origin.example/mcp', { fetch, ...options })(
    Object.assign(request, { cf }),
  );
  expect(forwarded).toEqual([expected, null]);
});

test.each([
  'tenant_id',
  'tenant.id',
  'tenant[id',
  'tenant%5Bid',
  'tenant+id',
  'TENANT[ID',
  'tenant_id[]',
  '[tenant_id]',
  '+tenant[id%00',
  'x;tenant[id',
])('a client cannot add the parameter tenant_id under the name %s', async (name) => {
  const fetch = vi.fn(async (_: Request) => new Response());
  const request = new Request(`https://gateway.example/mcp?${name}=b&other_id=c&tenant[ids=d`);
  await createProxy('https://origin.example/mcp?tenant_id=a', { fetch })(request);
  expect(fetch.mock.calls.map(([{ url }]) => new URL(url).search)).toEqual([
    '?tenant_id=a&other_id=c&tenant[ids=d',
  ]);
});

describe('a response', () => {
  test('streams, and its cancellation reaches the upstream', async () => {
    const gone = Promise.withResolvers<void>();
    let outgoing: ServerResponse | undefined;
    const url = await origin((_incoming, begun) => {
      outgoing = begun;
      begun.once('close', () => gone.resolve());
      begun.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const response = await ask(createProxy(url));
    const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader();
    expect((await reader?.read())?.value).toBe('data: 1\n\n');
    outgoing?.write('data: 2\n\n');
    expect((await reader?.read())?.value).toBe('data: 2\n\n');
    await reader?.cancel();
    await gone.promise;
  });

  test.each([301, 302, 303, 307, 308])(
    'that redirects with %d becomes a 502 without a location',
    async (status) => {
      let asked = 0;
      const url = await origin((_incoming, outgoing) => {
        asked += 1;
        outgoing.writeHead(status, { location: '/elsewhere' }).end();
      });
      const codes: unknown[] = [];
      const response = await ask(
        createProxy(url, { onError: (error) => codes.push((error as { code?: unknown }).code) }),
      );
      expect([response.status, response.headers.get('location'), asked]).toEqual([502, null, 1]);
      expect(codes).toEqual(['upstream-redirected']);
    },
  );

  test('that is missing becomes a 502, and one that is late a 504', async () => {
    const errors: unknown[] = [];
    const onError = (error: Error) => errors.push((error as { code?: unknown }).code);
    const missing = await ask(createProxy('http://127.0.0.1:1/mcp', { onError }));
    expect([missing.status, missing.headers.get('retry-after'), await missing.json()]).toEqual([
      502,
      '2',
      {
        jsonrpc: '2.0',
        error: { code: -32603, message: 'The server behind this gateway cannot be reached' },
      },
    ]);
    const url = await origin(() => {});
    const late = await ask(createProxy(url, { timeoutMs: 50, onError }));
    expect([late.status, await late.json()]).toEqual([
      504,
      {
        jsonrpc: '2.0',
        error: { code: -32603, message: 'The server behind this gateway took too long' },
      },
    ]);
    expect(errors).toEqual(['upstream-unreachable', 'upstream-timeout']);
  });

  test('that has begun in time may take longer than timeoutMs', async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const fetch = async ({ signal }: Request) => {
      signal.addEventListener('abort', () => void writer.abort(signal.reason));
      return new Response(readable);
    };
    const response = await ask(createProxy('https://origin.example/mcp', { fetch, timeoutMs: 50 }));
    await pause(100);
    void writer.write(new TextEncoder().encode('late'));
    void writer.close();
    expect(await response.text()).toBe('late');
  });
});

test.each([
  '',
  'origin.example',
  '/mcp',
  'ftp://origin.example',
  'https://user:secret@origin.example/mcp',
])('the upstream %j is refused', (url) => {
  expect(() => createProxy(url)).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});
