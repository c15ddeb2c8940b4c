import { expect, onTestFinished, test } from 'vitest';
import { Endpoint } from '../../../console/mcp/endpoint.ts';
import { serveOnNode } from '../../host/node-http.ts';

test.each([
  ['application/json', '{"jsonrpc":"2.0","id":ID,"result":{"ok":1}}'],
  [
    'text/event-stream',
    ': hello\n\ndata: {"jsonrpc":"2.0","method":"x"}\n\n' +
      'event: message\ndata: {"jsonrpc":"2.0","id":ID,\ndata: "result":{"ok":1}}\n\n',
  ],
  ['text/event-stream', 'data: {"jsonrpc":"2.0","id":ID,"result":{"ok":1}}\r\n\r\n'],
])('a response of the type %s yields its result', async (type, body) => {
  expect(await requested(body, { headers: { 'Content-Type': type } })).toEqual({ ok: 1 });
});

test.each([
  ['{"jsonrpc":"2.0","id":"b","result":{}}', 200, 'unreadable', true],
  ['{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}', 404, 'refused', true],
  ['{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}', 400, 'refused', true],
  ['', 202, 'unreadable', false],
  ['', 401, 'unauthorized', false],
  ['<html>', 200, 'unreadable', true],
  ['<html>', 502, 'unreadable', false],
  ['', 405, 'unreadable', true],
])(
  'the response %j with the status %i is the error %s, with mayBeOlder: %s',
  async (body, status, code, mayBeOlder) => {
    const type = body.startsWith('{') ? 'application/json' : 'text/html';
    const init = { status, headers: { 'Content-Type': type } };
    await expect(requested(body, init)).rejects.toMatchObject({ code, status, mayBeOlder });
  },
);

test('an event stream that ends without a result is an error', async () => {
  const init = { headers: { 'Content-Type': 'text/event-stream' } };
  await expect(requested(': bye\n\n', init)).rejects.toMatchObject({ code: 'unreadable' });
});

test('a session ends with the endpoint, and requests of its server get a response', async () => {
  const seen: string[] = [];
  const responses: unknown[] = [];
  const stream = Promise.withResolvers<ReadableStreamDefaultController>();
  const url = await serving(async (request) => {
    seen.push(`${request.method} ${request.headers.get('mcp-session-id')}`);
    if (request.method !== 'POST') {
      const body = new ReadableStream({ start: stream.resolve });
      const init = { headers: { 'content-type': 'text/event-stream' } };
      return request.method === 'GET' ? new Response(body, init) : new Response();
    }
    const { id, method, ...message } = (await request.json()) as Message;
    if (method === 'server/discover') return new Response(null, { status: 404 });
    if (method === undefined) responses.push({ id, ...message });
    if (method !== 'initialize') return new Response(null, { status: 202 });
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old' } };
    return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } });
  });
  const endpoint = new Endpoint(url, {}, () => {});
  expect(await endpoint.open()).toMatchObject({ name: 'old', revision: '2025-06-18' });
  const requests = [
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'roots/list' },
  ];
  const text = requests.map((request) => `data: ${JSON.stringify(request)}\n\n`).join('');
  (await stream.promise).enqueue(new TextEncoder().encode(text));
  await expect.poll(() => responses).toHaveLength(2);
  expect(responses).toMatchObject([
    { id: 1, result: {} },
    { id: 2, error: { code: -32601 } },
  ]);
  await endpoint.close();
  expect(seen[0]).toBe('POST null');
  expect(seen.at(-1)).toBe('DELETE s');
});

test('an aborted request is cancelled at the server', async () => {
  const aborted = Promise.withResolvers<void>();
  const url = await serving(async (request) => {
    request.signal.addEventListener('abort', () => aborted.resolve());
    const { id, method } = (await request.json()) as Message;
    if (method === 'server/discover') return Response.json({ jsonrpc: '2.0', id, result: {} });
    return new Promise(() => {});
  });
  const endpoint = new Endpoint(url, {}, () => {});
  await endpoint.open();
  const abort = new AbortController();
  const request = endpoint.request('tools/call', { name: 'slow' }, abort.signal);
  abort.abort(new Error('no longer needed'));
  await expect(request).rejects.toThrow('no longer needed');
  await aborted.promise;
});

test.each([
  ['before its response', false],
  ['during the event stream of its response', true],
])('a request ends with the endpoint, %s', async (_, hasBegun) => {
  const asked = Promise.withResolvers<void>();
  const received = Promise.withResolvers<void>();
  const url = await serving(async (request) => {
    const { id, method } = (await request.json()) as Message;
    if (method === 'server/discover') return Response.json({ jsonrpc: '2.0', id, result: {} });
    asked.resolve();
    if (!hasBegun) return new Promise(() => {});
    const progress = 'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n';
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(progress)),
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const endpoint = new Endpoint(url, {}, (_direction, text) => {
    if (text.includes('progress')) received.resolve();
  });
  await endpoint.open();
  const request = endpoint.request('tools/call', { name: 'slow' });
  await (hasBegun ? received : asked).promise;
  void endpoint.close();
  await expect(request).rejects.toMatchObject({ code: 'unreachable' });
  await expect(endpoint.request('tools/list')).rejects.toMatchObject({ code: 'unreachable' });
});

interface Message {
  id?: unknown;
  method?: string;
}

/** Sends a request that gets this body, in which `ID` stands for its id. */
async function requested(body: string, init: ResponseInit): Promise<Record<string, unknown>> {
  const url = await serving(async (request) => {
    const { id, method } = (await request.json()) as Message;
    if (method === 'server/discover') return Response.json({ jsonrpc: '2.0', id, result: {} });
    return new Response(body.replace('ID', JSON.stringify(id)), init);
  });
  const endpoint = new Endpoint(url, {}, () => {});
  await endpoint.open();
  return endpoint.request('tools/list');
}

async function serving(respond: (request: Request) => Promise<Response>): Promise<URL> {
  const server = await serveOnNode(respond);
  onTestFinished(() => server.stop());
  return new URL('/mcp', server.origin);
}
