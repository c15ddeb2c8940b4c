import { serveListen } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../host/listen.ts';
import { CAPABILITIES, URL } from './serving.ts';

interface Seen {
  method: string;
  headers: Record<string, string>;
  body: Uint8Array;
  rest: unknown[];
}

/** A server that remembers what reached its handler. */
function recording() {
  const seen: Seen[] = [];
  const handler = async (request: Request, ...rest: unknown[]) => {
    const body = new Uint8Array(await request.arrayBuffer());
    seen.push({ method: request.method, headers: Object.fromEntries(request.headers), body, rest });
    return new Response('from the handler', { status: 418, headers: { 'x-handler': 'yes' } });
  };
  return { seen, server: serveListen(handler, { capabilities: CAPABILITIES }) };
}

const JSON_HEADERS = { 'content-type': 'application/json', 'x-custom': 'a, b', authorization: 'Bearer t' };

describe('what is not a listen reaches the handler as it came', () => {
  test.each([
    ['a tool call', '{ "jsonrpc" : "2.0", "id":1,\n"method":"tools/call" }'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['a posted response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['a listen of an earlier revision', '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}'],
    ['nonsense', 'not json'],
    ['nothing', ''],
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

  test('a body that streams for longer than a listen would', async () => {
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

  test('the very request, untouched, where its body need not be read', async () => {
    let given: Request | undefined;
    const server = serveListen((request: Request) => {
      given = request;
      return new Response();
    });
    const request = new Request(URL, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' });
    await server.fetch(request);
    expect(given).toBe(request);
    expect(request.bodyUsed).toBe(false);
  });

  test('a request whose body was read by someone else already', async () => {
    let given: Request | undefined;
    const server = serveListen((request: Request) => {
      given = request;
      return new Response();
    });
    const request = new Request(URL, { method: 'POST', headers: LISTEN_HEADERS, body: listenBody({}) });
    await request.text();
    await server.fetch(request);
    expect(given).toBe(request);
  });
});

test('a handler is a function or an object with fetch, and keeps its this', async () => {
  const handler = {
    answer: 'mine',
    fetch(_request: Request) {
      return new Response(this.answer);
    },
  };
  const { fetch } = serveListen(handler, { capabilities: CAPABILITIES });
  expect(await (await fetch(new Request(URL))).text()).toBe('mine');
});

test('an error of the handler is its own: it is neither swallowed nor changed', async () => {
  const problem = new Error('broken');
  const server = serveListen(() => Promise.reject(problem), { capabilities: CAPABILITIES });
  await expect(server.fetch(new Request(URL))).rejects.toBe(problem);
});
