import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { python } from '../../scripts/setup/python.mjs';
import { GatewayFixture } from '../host/servers/gateway.ts';
import { PythonClient } from './python-client.ts';
import { SessionClient } from './session-client.ts';
import { Heard, typescriptClient } from './typescript-client.ts';

vi.setConfig({ testTimeout: 30_000 });

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://marker'] };

/** Starts the Python SDK's server; answers its endpoint. */
async function pythonServer(...args: string[]): Promise<[ChildProcessWithoutNullStreams, string]> {
  const server = spawn(python, [join(root, 'wasm-tests', 'interop', 'peer_server.py'), ...args]);
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  const url = `http://127.0.0.1:${String(port).trim()}/mcp`;
  await vi.waitFor(() => fetch(url), 20_000);
  return [server, url];
}

describe.each([['with sessions'], ['stateless']])(
  'a gateway in front of the Python SDK, %s',
  (kind) => {
    let server: ChildProcessWithoutNullStreams;
    let gate: GatewayFixture;

    beforeAll(async () => {
      let url: string;
      [server, url] = await pythonServer(...(kind === 'stateless' ? ['stateless'] : []));
      gate = await GatewayFixture.start(url);
    });

    afterAll(async () => {
      await gate?.stop();
      server?.kill('SIGKILL');
    });

    test('forwards requests of both eras, and of clients of both SDKs', async () => {
      const modern = await typescriptClient(gate.mcp(0));
      const session = await SessionClient.connect(gate.mcp(1));
      for (const { listTools, callTool } of [bound(modern), bound(session.client)]) {
        expect((await listTools()).tools).toMatchObject([{ name: 'touch' }]);
        expect(await callTool({ name: 'touch', arguments: {} })).toMatchObject({
          content: [{ text: 'touched' }],
        });
      }
      await modern.close();
      await session.client.close();
      for (const mode of ['auto', 'legacy'] as const) {
        const client = new PythonClient(gate.mcp(0), mode);
        expect(await client.list('tools')).toEqual(['touch']);
        expect(await client.callTool('touch')).toBe('touched');
        expect(await client.read('note://a')).toBe('a');
        await client.stop();
      }
    });

    test('tells streams of 2026 and sessions of 2025 what the server announces', async () => {
      const modern = await typescriptClient(gate.mcp(0));
      const heard = new Heard(modern);
      const subscription = await modern.listen(FILTER);
      const session = await SessionClient.connect(gate.mcp(1));
      for (const uri of FILTER.resourceSubscriptions)
        await session.client.subscribeResource({ uri });
      // What they are told because nobody knows what was missed before the watch comes before the
      // marker.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await gate.publish({ kind: 'resource_updated', uri: 'note://marker' });
      await until(heard, 'resources/updated note://marker');
      await until(session, 'resources/updated note://marker');
      await modern.callTool({ name: 'touch', arguments: {} });
      await until(heard, 'resources/updated note://a');
      await until(session, 'resources/updated note://a');
      await subscription.close();
      await modern.close();
      await session.client.close();
    });

    test('tells them what is published over HTTP', async () => {
      const modern = await typescriptClient(gate.mcp(0));
      const heard = new Heard(modern);
      const subscription = await modern.listen({ resourceSubscriptions: ['note://b'] });
      const session = await SessionClient.connect(gate.mcp(1));
      await session.client.subscribeResource({ uri: 'note://b' });
      await gate.publish({ kind: 'ResourceUpdated', uri: 'note://b' });
      await until(heard, 'resources/updated note://b');
      await until(session, 'resources/updated note://b');
      await subscription.close();
      await modern.close();
      await session.client.close();
    });
  },
);

interface Caller {
  listTools(): Promise<{ tools: unknown[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

/** What both clients of the TypeScript SDK can do. */
function bound(client: Caller): Caller {
  return { listTools: () => client.listTools(), callTool: (call) => client.callTool(call) };
}

/** Takes what comes until `wanted` does. */
async function until(heard: { next(): Promise<string> }, wanted: string): Promise<void> {
  while ((await heard.next()) !== wanted);
}
