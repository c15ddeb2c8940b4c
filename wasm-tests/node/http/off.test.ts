import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  brokerBus,
  createListenHandler,
  InMemoryBus,
  type ListenBus,
  type ListenHandler,
  type ListenHandlerOptions,
  type ServerEvent,
} from 'mcp-listen';
import { afterEach, expect, test, vi } from 'vitest';
import { Exchange, Fanout } from '../../../dist/wasm/server/bindings.js';
import { callRequest } from '../../host/call.ts';
import { LoopBroker } from '../bus/loop-broker.ts';
import { listenRequest, serving, TOOLS, URL } from '../serving.ts';
import { sdkServer } from '../sessions/serving.ts';

afterEach(() => void vi.restoreAllMocks());

const OFF = { listen: 'off' } as const;
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
};

/** A server of the official SDK, which announces all changes, behind `listen: 'off'`. */
function off(options: ListenHandlerOptions = {}): ListenHandler {
  return createListenHandler(
    createMcpHandler(() => sdkServer()),
    { ...OFF, ...options },
  );
}

function post({ fetch }: ListenHandler, message: object, headers: object = {}): Promise<Response> {
  const fields = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  return fetch(
    new Request(URL, { method: 'POST', headers: fields, body: JSON.stringify(message) }),
  );
}

async function statusAndBody(response: Response): Promise<unknown> {
  const { status } = response;
  return { status, ...((await response.json()) as object) };
}

const NOT_FOUND = { code: -32601, message: 'Method not found' };

test('a listen is refused with one response, method not found', async () => {
  const server = off();
  const response = await server.fetch(listenRequest(TOOLS, { id: '"a"' }));
  expect(response.headers.has('retry-after')).toBe(false);
  expect(await statusAndBody(response)).toEqual({
    status: 404,
    jsonrpc: '2.0',
    id: 'a',
    error: NOT_FOUND,
  });
  expect(server.stats()).toMatchObject({ opened: 0, refused: { request: 1 } });
});

test('server/discover announces no notifications, and keeps the rest of the response', async () => {
  const [original, withheld] = await Promise.all(
    [createMcpHandler(() => sdkServer()), off()].map(({ fetch }) =>
      discovered(fetch as ListenHandler['fetch']),
    ),
  );
  const { capabilities, ...others } = withheld as Discovery;
  const { capabilities: own, ...rest } = original as Discovery;
  expect(own).toMatchObject({ tools: { listChanged: true }, resources: { subscribe: true } });
  expect(capabilities).toEqual({ logging: {}, resources: {}, tools: {} });
  expect(others).toEqual(rest);
});

test('initialize announces no notifications either', async () => {
  const response = await post(off(), INITIALIZE);
  const { result } = (await response.json()) as { result: Discovery };
  expect(response.status).toBe(200);
  expect(result.capabilities).toEqual({ logging: {}, resources: {}, tools: {} });
  expect(result).toMatchObject({ protocolVersion: '2025-11-25', instructions: 'Ask me.' });
});

test('a legacy stream gets 405, and a legacy subscribe gets method not found', async () => {
  const server = off();
  const headers = { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' };
  const stream = await server.fetch(new Request(URL, { headers }));
  expect(stream.status).toBe(405);
  expect(stream.headers.get('allow')).toBe('POST, DELETE, OPTIONS');
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    const asked = { jsonrpc: '2.0', id: 7, method, params: { uri: 'note://a' } };
    const headers = { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25' };
    expect(await statusAndBody(await post(server, asked, headers))).toEqual({
      ...{ status: 200, jsonrpc: '2.0', id: 7 },
      error: NOT_FOUND,
    });
  }
});

test('other requests reach the handler unchanged', async () => {
  const server = serving(OFF);
  for (const message of [{ jsonrpc: '2.0', id: 1, method: 'ping' }, INITIALIZE, {}]) {
    expect((await post(server, message)).status).toBe(418);
  }
  expect((await server.fetch(new Request(URL, { method: 'DELETE' }))).status).toBe(418);
  const reject = serving({ ...OFF, legacy: 'reject' });
  expect((await post(reject, INITIALIZE)).status).toBe(400);
  expect((await reject.fetch(new Request(URL, { method: 'DELETE' }))).status).toBe(405);
});

test('a response that cannot be read passes unchanged, and one that is too large is a 502', async () => {
  const texts = ['{', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'];
  for (const text of texts) {
    const server = createListenHandler(
      () => new Response(text, { headers: { 'x-own': '1' } }),
      OFF,
    );
    const response = await post(server, INITIALIZE);
    expect(await response.text()).toBe(text);
    expect(response.headers.get('x-own')).toBe('1');
  }
  const late = createListenHandler(() => new Response('x'.repeat(100)), {
    ...OFF,
    limits: { responseBytes: 10 },
    onError() {},
  });
  expect((await post(late, INITIALIZE)).status).toBe(502);
});

test('a refusal calls neither the bus nor the callbacks, and only the check of the core', async () => {
  const touched: PropertyKey[] = [];
  const bus = new Proxy(new InMemoryBus(), {
    get: (target, name) => {
      touched.push(name);
      return Reflect.get(target, name, target) as unknown;
    },
  });
  const asked = vi.fn();
  const server = serving({ ...OFF, bus: bus as ListenBus, principal: asked, authorize: asked });
  touched.length = 0;
  const read = vi.spyOn(Exchange.prototype, 'handleBody');
  const others = [
    ...(['handleCaller', 'handleDiscovered', 'confirm', 'open'] as const).map((name) =>
      vi.spyOn(Exchange.prototype, name),
    ),
    vi.spyOn(Fanout.prototype, 'open'),
    vi.spyOn(Fanout.prototype, 'publish'),
  ];
  for (let count = 0; count < 10; count += 1) {
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(404);
  }
  expect(read).toHaveBeenCalledTimes(10);
  for (const other of others) expect(other).not.toHaveBeenCalled();
  expect(asked).not.toHaveBeenCalled();
  expect(touched).toEqual([]);
});

test('a server without streams publishes to the listeners of its bus', async () => {
  const bus = new InMemoryBus();
  const received: ServerEvent[] = [];
  bus.subscribe((event: ServerEvent) => void received.push(event));
  await off({ bus }).notify.toolsChanged();
  expect(received).toEqual([{ kind: 'tools_list_changed' }]);
});

test('a server without streams does not follow the broker of its bus', async () => {
  const broker = new LoopBroker();
  const follow = vi.spyOn(broker, 'follow');
  const bus = brokerBus(broker);
  const server = off({ bus });
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(404);
  await server.notify.toolsChanged();
  expect(follow).not.toHaveBeenCalled();
  await bus.close();
});

test.each([OFF, {}])('a server with %j can be created where nothing is random', async (options) => {
  // Workers refuse random values while a module is evaluated.
  const random = [
    vi.spyOn(crypto, 'randomUUID').mockImplementation(atTop),
    vi.spyOn(crypto, 'getRandomValues').mockImplementation(atTop),
  ];
  const server = serving(options);
  for (const spy of random) spy.mockRestore();
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe('listen' in options ? 404 : 200);
  await server.close();
});

test.each([{ listen: 'none' }, { listen: 'off', legacy: 'sessions' }])(
  'the options %j are refused',
  (options) => {
    expect(() => serving(options as ListenHandlerOptions)).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
  },
);

function atTop(): never {
  throw new Error('Disallowed operation called within global scope');
}

interface Discovery {
  capabilities: object;
}

async function discovered(fetch: ListenHandler['fetch']): Promise<Discovery> {
  const response = await fetch(callRequest(URL, 'server/discover'));
  return ((await response.json()) as { result: Discovery }).result;
}
