import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen, type Subscription } from 'mcp-listen/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstKind } from '../host/first-kind.ts';
import { serveOnNode } from '../host/node-http.ts';
import { sdkServer } from '../node/sessions/serving.ts';
import { typescriptClient } from './clients/typescript.ts';
import { type PythonServer, pythonServer } from './servers/python.ts';

const TOOLS = { toolsListChanged: true };
const BOTH = { ...TOOLS, resourceSubscriptions: ['note://a'] };

/** The first two events, sorted. */
async function firstTwo(subscription: Subscription): Promise<string[]> {
  const events: string[] = [];
  for await (const event of subscription) {
    events.push(event.kind === 'resource_updated' ? `${event.kind} ${event.uri}` : event.kind);
    if (events.length === 2) break;
  }
  return events.sort();
}

describe('our client and a server of the Python SDK', () => {
  let server: PythonServer;

  beforeAll(async () => {
    server = await pythonServer();
  });

  afterAll(() => server?.stop());

  /** Makes a change through another client. */
  async function touch(): Promise<void> {
    const client = await typescriptClient(server.url);
    await client.callTool({ name: 'touch', arguments: {} });
    await client.close();
  }

  test.each([
    ['2026-07-28', 'auto'],
    ['2025-11-25', '2025'],
  ] as const)('speak %s, with changes of a list and of a resource', async (version, revision) => {
    const subscription = await listen(server.url, BOTH, { revision });
    expect(subscription.revision).toBe(version);
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
    expect(subscription.revision).toBe('2026-07-28');
    handler.notify.toolsChanged();
    expect(await firstKind(subscription)).toBe('tools_list_changed');
    await node.stop();
  });
});
