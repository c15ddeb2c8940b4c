import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type CreateMcpHandlerOptions, createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, type ListenHandler } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { everythingServer } from '../../conformance/fixture/server.ts';
import { META } from '../../host/call.ts';
import { acknowledged, LISTEN_HEADERS, listChanged, type WireStream } from '../../host/listen.ts';
import { Notifications, typescriptClient } from '../../interop/clients/typescript.ts';
import { listenRequest, open, TOOLS, URL } from '../serving.ts';

describe('a stream beside the other requests of a client', () => {
  test('receives neither the progress nor the log of a tool call', async () => {
    const server = everything();
    const stream = await open(server, TOOLS);
    const call = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
    expect(await (await callTool(server, 'test_tool_with_logging', call)).text()).toContain(
      'notifications/message',
    );
    expect(await (await callTool(server, 'test_tool_with_progress', call)).text()).toContain(
      'notifications/progress',
    );
    await callTool(server, 'test_trigger_tool_change');
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  });

  test('carries notifications and its result: no request, no cancellation, no event id', async () => {
    const server = everything();
    const stream = await open(server, { ...TOOLS, promptsListChanged: true });
    for (const tool of [
      'test_streaming_elicitation',
      'test_trigger_tool_change',
      'test_trigger_prompt_change',
    ]) {
      await callTool(server, tool);
    }
    void server.close();
    const events = await all(stream);
    expect(events.filter((event) => !/^event: message\ndata: .+$/.test(event))).toEqual([]);
    expect(events.map((event) => JSON.parse(event.slice('event: message\ndata: '.length)))).toEqual(
      [
        {
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: expect.anything(),
        },
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: expect.anything() },
        { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: expect.anything() },
        { jsonrpc: '2.0', id: 1, result: expect.anything() },
      ],
    );
  });

  test('stays open when another request sends notifications/cancelled with its id', async () => {
    const server = everything();
    const stream = await open(server, TOOLS);
    await stream.message();
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, _meta: META },
    };
    const response = await server.fetch(post(cancelled));
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  });
});

describe('a listen request', () => {
  test('is acknowledged alike before, after and without other requests', async () => {
    const acknowledgments = [];
    for (const order of [['listen', 'call'], ['call', 'listen'], ['listen']]) {
      const server = everything();
      for (const request of order) {
        if (request === 'call') await (await callTool(server, 'test_tool_with_progress')).text();
        else acknowledgments.push(await (await open(server, TOOLS)).message());
      }
    }
    expect(acknowledgments).toEqual(Array(3).fill(acknowledged('1', TOOLS)));
  });

  test('gets a stream by a server that prefers JSON', async () => {
    const { response } = await open(everything({ responseMode: 'json' }), TOOLS);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
  });

  test('may carry the ids of a legacy session and event, which are ignored', async () => {
    const headers = { 'mcp-session-id': 'unknown', 'last-event-id': '7' };
    const response = await everything().fetch(listenRequest(TOOLS, { headers }));
    expect(response.status).toBe(200);
    expect(response.headers.has('mcp-session-id')).toBe(false);
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe(
      `event: message\ndata: ${acknowledged('1', TOOLS)}\n\n`,
    );
  });
});

describe("the SDK's client", () => {
  test('that reads after the server has closed receives pending changes and a graceful end', async () => {
    const server = everything();
    let read: () => void = () => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    const transport = new StreamableHTTPClientTransport(new globalThis.URL(URL), {
      fetch: async (url, init) => heldAfterAck(await server.fetch(new Request(url, init)), reading),
    });
    const client = await typescriptClient(transport);
    const notifications = new Notifications(client);
    const subscription = await client.listen({ ...TOOLS, promptsListChanged: true });
    for (let count = 0; count < 3; count += 1) await server.notify.toolsChanged();
    await server.notify.promptsChanged();
    await server.close();
    expect([notifications.waiting, server.stats().open]).toEqual([0, 0]);
    read();
    expect(await subscription.closed).toBe('graceful');
    expect([await notifications.next(), await notifications.next()]).toEqual([
      'tools/list_changed',
      'prompts/list_changed',
    ]);
    expect(notifications.waiting).toBe(0);
    await client.close();
  });
});

describe('between the revisions', () => {
  test.each(['subscriptions/listen', 'server/discover'])(
    '%s without _meta is an unknown method of 2025',
    async (method) => {
      const bare = { jsonrpc: '2.0', id: 1, method, params: { notifications: TOOLS } };
      const response = await everything().fetch(post(bare, BARE));
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toContain('-32601');
      expect(text).not.toContain('acknowledged');
    },
  );

  test.each(['subscriptions/listen', 'tools/list'])(
    '%s without _meta, but with the headers, is invalid',
    async (method) => {
      const bare = { jsonrpc: '2.0', id: 1, method, params: {} };
      const response = await everything().fetch(post(bare, { 'mcp-method': method }));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } });
    },
  );

  test("initialize gets the served versions with legacy: 'reject'", async () => {
    const server = everything({ legacy: 'reject' });
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE };
    const response = await server.fetch(post(initialize, BARE));
    expect(await response.json()).toMatchObject({ error: { data: { supported: ['2026-07-28'] } } });
  });

  test.each(['2026-07-28', '1999-01-01'])(
    'initialize with %s gets 2025-11-25',
    async (protocolVersion) => {
      const initialize = {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { ...INITIALIZE, protocolVersion },
      };
      const response = await everything().fetch(post(initialize, BARE));
      expect(await response.text()).toContain('"protocolVersion":"2025-11-25"');
    },
  );
});

/** A stream that is not read after the acknowledgment until `reading` resolves. */
function heldAfterAck(response: Response, reading: Promise<void>): Response {
  const { body, headers, status } = response;
  if (body === null || headers.get('content-type') !== 'text/event-stream') return response;
  const reader = body.getReader();
  let chunks = 0;
  const held = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (chunks > 0) await reading;
      const { value } = await reader.read();
      chunks += 1;
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(held, { headers, status });
}

/** The header fields of a client of an earlier revision. */
const BARE = { 'mcp-protocol-version': undefined, 'mcp-method': undefined };

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
};

/** The fixture of the official suite, with the official SDK behind. */
function everything(options: CreateMcpHandlerOptions = {}): ListenHandler {
  const server: ListenHandler = createListenHandler(
    createMcpHandler(() => everythingServer(server.notify), options),
  );
  return server;
}

function callTool(server: ListenHandler, name: string, meta: object = {}): Promise<Response> {
  const params = { name, arguments: {}, _meta: { ...META, ...meta } };
  const headers = { 'mcp-method': 'tools/call', 'mcp-name': name };
  return server.fetch(post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }, headers));
}

function post(
  message: { method: string; [member: string]: unknown },
  headers: Record<string, string | undefined> = {},
): Request {
  const fields = Object.entries({ ...LISTEN_HEADERS, 'mcp-method': message.method, ...headers });
  const given = fields.filter((field): field is [string, string] => field[1] !== undefined);
  return new Request(URL, { method: 'POST', headers: given, body: JSON.stringify(message) });
}

async function all(stream: WireStream): Promise<string[]> {
  const events: string[] = [];
  for (let event = await stream.event(); event !== undefined; event = await stream.event())
    events.push(event);
  return events;
}
