import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen, type Subscription } from 'mcp-listen/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { python } from '../../scripts/setup/python.mjs';
import { serveOnNode } from '../host/node-http.ts';
import { sdkServer } from '../node/sessions/serving.ts';
import { typescriptClient } from './typescript-client.ts';

vi.setConfig({ testTimeout: 30_000 });

const TOOLS = { toolsListChanged: true };
const BOTH = { ...TOOLS, resourceSubscriptions: ['note://a'] };

async function first(subscription: Subscription): Promise<string | undefined> {
  for await (const event of subscription) return event.kind;
  return undefined;
}

/** What comes first of two subjects, in the order of their names. */
async function firstTwo(subscription: Subscription): Promise<string[]> {
  const heard: string[] = [];
  for await (const event of subscription) {
    heard.push(event.kind === 'resource_updated' ? `${event.kind} ${event.uri}` : event.kind);
    if (heard.length === 2) break;
  }
  return heard.sort();
}

describe('our client and a server of the Python SDK', () => {
  let server: ChildProcessWithoutNullStreams;
  let url: string;

  beforeAll(async () => {
    server = spawn(python, [join(root, 'wasm-tests', 'interop', 'peer_server.py')]);
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    url = `http://127.0.0.1:${String(port).trim()}/mcp`;
    await vi.waitFor(() => fetch(url), 20_000);
  });

  afterAll(() => server?.kill('SIGKILL'));

  /** Whatever era the subscription is of: who makes the change is a client of its own. */
  async function touch(): Promise<void> {
    const client = await typescriptClient(url);
    await client.callTool({ name: 'touch', arguments: {} });
    await client.close();
  }

  test.each([
    ['2026-07-28', 'auto'],
    ['2025-11-25', '2025'],
  ] as const)('speak %s: a list and a resource are heard of', async (version, era) => {
    const subscription = await listen(url, BOTH, { era });
    expect(subscription.era).toBe(version);
    expect(subscription.honored).toEqual(BOTH);
    await touch();
    expect(await firstTwo(subscription)).toEqual([
      'resource_updated note://a',
      'tools_list_changed',
    ]);
  });
});

describe('our client and a server of the TypeScript SDK', () => {
  test('speak 2026-07-28', async () => {
    const handler = createMcpHandler(() => sdkServer());
    const node = await serveOnNode((request) => handler.fetch(request));
    const subscription = await listen(`${node.origin}/mcp`, TOOLS);
    expect(subscription.era).toBe('2026-07-28');
    handler.notify.toolsChanged();
    expect(await first(subscription)).toBe('tools_list_changed');
    await node.stop();
  });
});
