import { createListenHandler } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { URL } from '../serving.ts';

interface Seen {
  method: string;
  headers: Record<string, string>;
  body: Uint8Array;
  rest: unknown[];
}

/** A server, and the requests that reached its handler. */
function recording() {
  const seen: Seen[] = [];
  const handler = async (request: Request, ...rest: unknown[]) => {
    const body = new Uint8Array(await request.arrayBuffer());
    seen.push({ method: request.method, headers: Object.fromEntries(request.headers), body, rest });
    return new Response('from the handler', { status: 418, headers: { 'x-handler': 'yes' } });
  };
  return { seen, server: createListenHandler(handler, { server: declaring(CAPABILITIES) }) };
}

/** A server, and the very requests that its handler has received. */
function receiving() {
  const given: Request[] = [];
  const server = createListenHandler((request: Request) => {
    given.push(request);
    return new Response();
  });
  return { given, server };
}

const JSON_HEADERS = {
  'content-type': 'application/json',
  'x-custom': 'a, b',
  authorization: 'Bearer t',
};

const JSON_TYPE = 'application/json';
const NEEDED = { requiredCapabilities: { sampling: {} } };
const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, extensions: { 'example/unknown': { of: 1 } } },
  ttlMs: 5,
  cacheScope: 'public',
};
const LOGGED = `: a comment\r\nid: 7\nevent: message\ndata: {"method":"notifications/message"}\n\ndata: ${message({ result: {} })}\n\n`;

/** A message of the handler, with whitespace as no serializer here would write it. */
function message(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, ...members }, null, 1);
}

function error(code: number, data?: object): object {
  return { error: { code, message: 'as the handler says', data } };
}

describe('what is not a listen reaches the handler unchanged', () => {
  test.each([
    ['a tool call', '{ "jsonrpc" : "2.0", "id":1,\n"method":"tools/call" }'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['a posted response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    [
      'a listen of an earlier revision',
      '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}',
    ],
    ['nonsense', 'not json'],
    ['an empty body', ''],
    ['a body of the largest size that is read', ' '.repeat(65_536)],
    ['a body larger than a listen may be', `"${'é'.repeat(400_000)}"`],
  ])('%s', async (_name, text) => {
    const { seen, server } = recording();
    const request = new Request(URL, { method: 'POST', headers: JSON_HEADERS, body: text });
    const headers = Object.fromEntries(request.headers);
    const response = await server.fetch(request, { env: 1 }, 'ctx');
    expect(response.status).toBe(418);
    expect(response.headers.get('x-handler')).toBe('yes');
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', headers, rest: [{ env: 1 }, 'ctx'] });
    expect(Buffer.from(seen[0]?.body ?? []).equals(Buffer.from(text))).toBe(true);
  });

  test('bytes that are not text', async () => {
    const { seen, server } = recording();
    const bytes = crypto.getRandomValues(new Uint8Array(1_000));
    await server.fetch(new Request(URL, { method: 'POST', headers: JSON_HEADERS, body: bytes }));
    expect(seen[0]?.body).toEqual(bytes);
  });

  test('a streamed body that is larger than a listen', async () => {
    const { seen, server } = recording();
    const chunks = Array.from({ length: 40 }, (_, place) => new Uint8Array(5_000).fill(place));
    const body = new Blob(chunks).stream();
    const init = { method: 'POST', headers: JSON_HEADERS, body, duplex: 'half' } as RequestInit;
    await server.fetch(new Request(URL, init));
    expect(Buffer.concat(chunks).equals(Buffer.from(seen[0]?.body ?? []))).toBe(true);
  });

  test.each(['GET', 'DELETE', 'OPTIONS'])('%s', async (method) => {
    const { seen, server } = recording();
    const request = new Request(URL, { method, headers: LISTEN_HEADERS });
    await server.fetch(request);
    expect(seen[0]).toMatchObject({ method, headers: Object.fromEntries(request.headers) });
  });
});

describe('the handler receives the very request', () => {
  test('where its body need not be read', async () => {
    const { given, server } = receiving();
    const request = new Request(URL, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    });
    await server.fetch(request);
    expect(given[0]).toBe(request);
    expect(request.bodyUsed).toBe(false);
  });

  test('where its body was read already', async () => {
    const { given, server } = receiving();
    const request = new Request(URL, {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: listenBody({}),
    });
    await request.text();
    await server.fetch(request);
    expect(given[0]).toBe(request);
  });
});

describe('a response of the handler reaches the client unchanged', () => {
  test.each<[name: string, method: string, status: number, type: string | undefined, body: string]>(
    [
      ['202 without a body to a notification', 'notifications/cancelled', 202, undefined, ''],
      ['404 to an unknown method', 'nonsense', 404, JSON_TYPE, message(error(-32601))],
      ['404 to a removed method', 'ping', 404, JSON_TYPE, message(error(-32601))],
      [
        '200 to a method that is unknown to an earlier revision',
        'nonsense',
        200,
        JSON_TYPE,
        message(error(-32601)),
      ],
      [
        '400 to a client without a capability',
        'tools/call',
        400,
        JSON_TYPE,
        message(error(-32021, NEEDED)),
      ],
      [
        '400 to a name in the header that is not in the body',
        'tools/call',
        400,
        JSON_TYPE,
        message(error(-32020)),
      ],
      [
        '400 to initialize',
        'initialize',
        400,
        JSON_TYPE,
        message(error(-32022, { supported: ['2026-07-28'] })),
      ],
      [
        '200 to server/discover',
        'server/discover',
        200,
        JSON_TYPE,
        message({ result: DISCOVERED }),
      ],
      ['a stream with a log and a result', 'tools/call', 200, 'text/event-stream', LOGGED],
    ],
  )('%s', async (_name, method, status, type, body) => {
    const request = {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    };
    const headers = { 'x-handler': 'yes', ...(type === undefined ? {} : { 'content-type': type }) };
    const handler = async (asked: Request) => {
      expect(await asked.text()).toBe(request.body);
      return new Response(body === '' ? null : new Blob([body]).stream(), { status, headers });
    };
    const response = await createListenHandler(handler, { server: declaring(CAPABILITIES) }).fetch(
      new Request(URL, request),
    );
    expect(response.status).toBe(status);
    expect(Object.fromEntries(response.headers)).toEqual(headers);
    expect(await response.text()).toBe(body);
  });
});

test('a handler is a function or an object with fetch, and keeps its this', async () => {
  const handler = {
    text: 'mine',
    fetch(_request: Request) {
      return new Response(this.text);
    },
  };
  const { fetch } = createListenHandler(handler, { server: declaring(CAPABILITIES) });
  expect(await (await fetch(new Request(URL))).text()).toBe('mine');
});

test('an error of the handler is neither swallowed nor changed', async () => {
  const problem = new Error('broken');
  const server = createListenHandler(() => Promise.reject(problem), {
    server: declaring(CAPABILITIES),
  });
  await expect(server.fetch(new Request(URL))).rejects.toBe(problem);
});
