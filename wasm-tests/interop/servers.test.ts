import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen, type Subscription } from 'mcp-listen/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../scripts/project.mjs';
import { python } from '../../scripts/python.mjs';
import { serveOnNode } from '../host/node-http.ts';
import { sdkServer } from '../node/legacy-serving.ts';
import { typescriptClient } from './typescript-client.ts';

vi.setConfig({ testTimeout: 30_000 });

const TOOLS = { toolsListChanged: true };

async function first(subscription: Subscription): Promise<string | undefined> {
  for await (const event of subscription) return event.kind;
  return undefined;
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

  test('speak 2026-07-28', async () => {
    const subscription = await listen(url, TOOLS);
    expect(subscription.era).toBe('2026-07-28');
    const client = await typescriptClient(url);
    await client.callTool({ name: 'touch', arguments: {} });
    expect(await first(subscription)).toBe('tools_list_changed');
    await client.close();
  });

  test('speak 2025-11-25', async () => {
    const subscription = await listen(url, TOOLS, { era: '2025' });
    expect(subscription.era).toBe('2025-11-25');
    await subscription.close();
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
