import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { PythonClient } from '../clients/python.ts';
import { SessionClient } from '../clients/session.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';
import { type PythonServer, pythonServer } from '../servers/python.ts';

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://marker'] };

describe.each([['with sessions'], ['stateless']])(
  'a gateway in front of the Python SDK, %s',
  (kind) => {
    let server: PythonServer;
    let gateway: GatewayFixture;

    beforeAll(async () => {
      server = await pythonServer(...(kind === 'stateless' ? ['stateless'] : []));
      gateway = await GatewayFixture.start(server.url);
    });

    afterAll(async () => {
      await gateway?.stop();
      server?.stop();
    });

    test('forwards requests of both revisions, and of clients of both SDKs', async () => {
      const modern = await typescriptClient(gateway.mcp(0));
      const session = await SessionClient.connect(gateway.mcp(1));
      for (const { listTools, callTool } of [bound(modern), bound(session.client)]) {
        expect((await listTools()).tools).toMatchObject([{ name: 'touch' }, { name: 'draw' }]);
        expect(await callTool({ name: 'touch', arguments: {} })).toMatchObject({
          content: [{ text: 'touched' }],
        });
      }
      await modern.close();
      await session.client.close();
      for (const mode of ['auto', 'legacy'] as const) {
        const client = new PythonClient(gateway.mcp(0), mode);
        expect(await client.list('tools')).toEqual(['touch', 'draw']);
        expect(await client.callTool('touch')).toBe('touched');
        expect(await client.read('note://a')).toBe('a');
        await client.stop();
      }
    });

    test('sends what the server announces to streams of 2026 and sessions of 2025', async () => {
      const modern = await typescriptClient(gateway.mcp(0));
      const notifications = new Notifications(modern);
      const subscription = await modern.listen(FILTER);
      const session = await SessionClient.connect(gateway.mcp(1));
      for (const uri of FILTER.resourceSubscriptions)
        await session.client.subscribeResource({ uri });
      // The cues for what may have been missed before the watch come before the marker.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await gateway.publish({ kind: 'resource_updated', uri: 'note://marker' });
      await until(notifications, 'resources/updated note://marker');
      await until(session, 'resources/updated note://marker');
      await modern.callTool({ name: 'touch', arguments: {} });
      await until(notifications, 'resources/updated note://a');
      await until(session, 'resources/updated note://a');
      await subscription.close();
      await modern.close();
      await session.client.close();
    });

    test('sends them what is published over HTTP', async () => {
      const modern = await typescriptClient(gateway.mcp(0));
      const notifications = new Notifications(modern);
      const subscription = await modern.listen({ resourceSubscriptions: ['note://b'] });
      const session = await SessionClient.connect(gateway.mcp(1));
      await session.client.subscribeResource({ uri: 'note://b' });
      await gateway.publish({ kind: 'ResourceUpdated', uri: 'note://b' });
      await until(notifications, 'resources/updated note://b');
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

/** The calls that both clients of the TypeScript SDK share. */
function bound(client: Caller): Caller {
  return { listTools: () => client.listTools(), callTool: (call) => client.callTool(call) };
}

/** Takes notifications until `wanted` is taken. */
async function until(notifications: { next(): Promise<string> }, wanted: string): Promise<void> {
  while ((await notifications.next()) !== wanted);
}
