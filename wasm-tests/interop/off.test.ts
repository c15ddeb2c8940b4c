import { setTimeout as sleep } from 'node:timers/promises';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { expect, onTestFinished, test } from 'vitest';
import { served } from '../host/http-server.ts';
import { PythonClient } from './clients/python.ts';
import { SessionClient } from './clients/session.ts';
import { typescriptClient } from './clients/typescript.ts';
import { agents } from './listen-once/agents.ts';
import { rmcp } from './listen-once/rmcp.ts';

/** The requests to the server: HTTP method, and method of the message. */
type Asked = string[];

/**
 * Serves a server of the SDK that announces changes with `listen: 'off'`. With `announces`, its
 * response to `server/discover` reaches clients unchanged, so that they do request a stream.
 */
async function serving(announces: boolean): Promise<{ url: string; asked: Asked }> {
  const handler = createMcpHandler(() => announcing());
  const off = createListenHandler(handler, { listen: 'off', onError: () => {} });
  const asked: Asked = [];
  const fetch = async (request: Request): Promise<Response> => {
    const method = methodIn(await request.clone().text());
    asked.push(`${request.method} ${method}`.trim());
    return announces && method === 'server/discover' ? handler.fetch(request) : off.fetch(request);
  };
  return { url: `${await served(toNodeHandler({ fetch }))}/mcp`, asked };
}

function announcing(): McpServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
  };
  const server = new McpServer({ name: 'behind', version: '1.0.0' }, { capabilities });
  server.registerTool('hello', {}, () => ({ content: [] }));
  return server;
}

function methodIn(body: string): string {
  return body === '' ? '' : String((JSON.parse(body) as { method?: unknown }).method);
}

/** How often a client requested a stream. */
function listens(asked: Asked): number {
  return asked.filter((what) => what === 'POST subscriptions/listen').length;
}

test('the TypeScript client with listChanged requests no stream, and continues', async () => {
  const { asked, url } = await serving(false);
  const client = await keeping(url);
  expect(client.autoOpenedSubscription).toBeUndefined();
  expect((await client.listTools()).tools).toMatchObject([{ name: 'hello' }]);
  expect(listens(asked)).toBe(0);
});

test('the TypeScript client that requests a stream does so once, and continues', async () => {
  const { asked, url } = await serving(true);
  const client = await keeping(url);
  expect(client.autoOpenedSubscription).toBeUndefined();
  expect((await client.listTools()).tools).toMatchObject([{ name: 'hello' }]);
  expect(listens(asked)).toBe(1);
  await expect(client.listen({ toolsListChanged: true })).rejects.toThrow('Method not found');
  expect(listens(asked)).toBe(2);
});

test('the Python client that requests a stream does so once, and continues', async () => {
  const { asked, url } = await serving(true);
  const client = new PythonClient(url);
  onTestFinished(() => client.stop());
  await expect(client.listen('tools', { tools_list_changed: true })).rejects.toThrow(
    'MCPError -32601',
  );
  expect(await client.list('tools')).toEqual(['hello']);
  expect(listens(asked)).toBe(1);
});

test('no client whose request for a stream is refused repeats it', async () => {
  const asked = await Promise.all([
    refused(async (url) => {
      await keeping(url);
      await patience();
    }),
    refused(async (url) => {
      const client = new PythonClient(url);
      onTestFinished(() => client.stop());
      await expect(client.listen('tools', { tools_list_changed: true })).rejects.toThrow();
      await patience();
    }),
    // These fail, since they have no subscription, and are then stopped.
    refused((url) => expect(agents(url, patience)).rejects.toThrow()),
    refused((url) => expect(rmcp(url, patience)).rejects.toThrow()),
  ]);
  expect(asked.map(listens)).toEqual([1, 1, 1, 1]);
});

test('the TypeScript client of 2025 requests a stream once, and continues without it', async () => {
  const { asked, url } = await serving(false);
  const { client } = await SessionClient.connect(url, 0);
  onTestFinished(() => client.close());
  expect(client.getServerCapabilities()).toEqual({ tools: {}, resources: {} });
  await expect(client.subscribeResource({ uri: 'note://a' })).rejects.toMatchObject({
    code: -32601,
  });
  expect((await client.listTools()).tools).toMatchObject([{ name: 'hello' }]);
  expect(asked.filter((what) => what.startsWith('GET'))).toHaveLength(1);
});

test('the Python client of 2025 is refused a subscription, and continues', async () => {
  const { asked, url } = await serving(false);
  const client = new PythonClient(url, 'legacy');
  onTestFinished(() => client.stop());
  await expect(client.subscribe('note://a')).rejects.toThrow('MCPError -32601');
  expect(await client.list('tools')).toEqual(['hello']);
  expect(asked.filter((what) => what.startsWith('GET')).length).toBeLessThanOrEqual(1);
});

/** What a client asks a server that refuses it a stream. It runs until `client` resolves. */
async function refused(client: (url: string) => Promise<void>): Promise<Asked> {
  const { asked, url } = await serving(true);
  await client(url);
  return asked;
}

function patience(): Promise<void> {
  return sleep(PATIENCE_MS);
}

/** A client that keeps the list of tools. */
async function keeping(url: string) {
  const client = await typescriptClient(url, { listChanged: { tools: { onChanged: () => {} } } });
  onTestFinished(() => client.close());
  return client;
}

/** Milliseconds within which a client would repeat a request. */
const PATIENCE_MS = 15_000;
