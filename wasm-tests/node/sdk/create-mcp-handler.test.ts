import {
  InMemoryServerEventBus,
  McpServer,
  type McpServerFactory,
  createMcpHandler as sdkHandler,
} from '@modelcontextprotocol/server';
import { InMemoryBus } from 'mcp-listen';
import { createMcpHandler } from 'mcp-listen/sdk';
import { describe, expect, test, vi } from 'vitest';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listenBody,
  updated,
  WireStream,
} from '../../host/listen.ts';
import { listenRequest, open, TOOLS, URL } from '../serving.ts';
import { recordingSdkBus } from './changing-server.ts';

const CAPABILITIES = {
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
};

/** A server whose tool names its caller, and changes a note. */
const factory: McpServerFactory = ({ authInfo }) => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' }, CAPABILITIES);
  server.registerTool('write', {}, async () => {
    await server.server.sendResourceUpdated({ uri: 'note://a' });
    return { content: [{ type: 'text', text: `written by ${authInfo?.clientId}` }] };
  });
  return server;
};

/** A call of the tool, as a request and as the body that a framework has parsed. */
function toolCall() {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const parsedBody = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { _meta, name: 'write', arguments: {} },
  };
  const headers = { ...LISTEN_HEADERS, 'mcp-method': 'tools/call', 'mcp-name': 'write' };
  const request = () =>
    new Request(URL, { method: 'POST', headers, body: JSON.stringify(parsedBody) });
  return { headers, parsedBody, request };
}

/** The next message, parsed: the two handlers order its members differently. */
async function parsed(stream: WireStream): Promise<unknown> {
  return JSON.parse((await stream.message()) ?? 'null');
}

describe.each([
  ['@modelcontextprotocol/server', sdkHandler],
  ['mcp-listen/sdk', createMcpHandler],
])('the API that the SDK has too, of %s,', (_, create: typeof sdkHandler) => {
  const auth = { authInfo: { token: 't', clientId: 'ann', scopes: [] } };

  test('has the same members, which can be detached', async () => {
    const bus = new InMemoryServerEventBus();
    const {
      bus: used,
      close,
      fetch,
      notify,
    } = create(factory, { bus, maxSubscriptions: 1, keepAliveMs: 0 });
    const stream = await open({ fetch }, TOOLS);
    expect(await parsed(stream)).toEqual(JSON.parse(acknowledged('1', TOOLS)));
    const received = vi.fn();
    used.subscribe(received);
    notify.toolsChanged();
    expect(await parsed(stream)).toEqual(JSON.parse(listChanged('1', 'tools')));
    expect(received).toHaveBeenCalledWith({ kind: 'tools_list_changed' });
    expect(await (await fetch(listenRequest(TOOLS))).json()).toMatchObject({
      error: { code: -32_603 },
    });
    await close();
    expect(await stream.message()).toContain('"resultType":"complete"');
  });

  test('passes authInfo to the factory', async () => {
    const { close, fetch } = create(factory);
    expect(await (await fetch(toolCall().request(), auth)).text()).toContain('written by ann');
    await close();
  });

  test('accepts a parsed body', async () => {
    const { close, fetch } = create(factory);
    const { headers, parsedBody } = toolCall();
    const read = new Request(URL, { method: 'POST', headers });
    expect(await (await fetch(read, { ...auth, parsedBody })).text()).toContain('written by ann');
    const listening = new Request(URL, { method: 'POST', headers: LISTEN_HEADERS });
    const response = await fetch(listening, { parsedBody: JSON.parse(listenBody(TOOLS)) });
    const stream = new WireStream(response, new AbortController());
    expect(await parsed(stream)).toEqual(JSON.parse(acknowledged('1', TOOLS)));
    await close();
  });

  test('refuses an option of the wrong type', () => {
    const legacy = (() => new Response()) as unknown as 'reject';
    expect(() => create(factory, { legacy })).toThrow(TypeError);
  });
});

describe('createMcpHandler of mcp-listen/sdk', () => {
  const NOTE = { resourceSubscriptions: ['note://a'] };

  test('publishes the notifications of a server', async () => {
    const handler = createMcpHandler(factory);
    const stream = await open(handler, NOTE);
    expect(await stream.message()).toBe(acknowledged('1', NOTE));
    await handler.fetch(toolCall().request());
    expect(await stream.message()).toBe(updated('1', 'note://a'));
    await handler.close();
  });

  test('serves and publishes on the given bus, also on one of the SDK', async () => {
    const mine = new InMemoryBus();
    expect(createMcpHandler(factory, { bus: mine }).bus).toBe(mine);
    const { bus, events } = recordingSdkBus();
    await createMcpHandler(factory, { bus }).fetch(toolCall().request());
    expect(events).toEqual([{ kind: 'resource_updated', uri: 'note://a' }]);
  });

  test('accepts the options of createListenHandler', async () => {
    const handler = createMcpHandler(factory, { principal: () => ({ denied: 401 }) });
    expect((await handler.fetch(listenRequest(TOOLS))).status).toBe(401);
    expect(handler.stats()).toMatchObject({ open: 0 });
    const sessions = createMcpHandler(factory, { legacy: 'sessions' });
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const request = new Request(URL, { method: 'POST', headers, body: JSON.stringify(body) });
    expect((await sessions.fetch(request)).headers.get('mcp-session-id')).not.toBeNull();
  });

  const INITIALIZE = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  };
});
