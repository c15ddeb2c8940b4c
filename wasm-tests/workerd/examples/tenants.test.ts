import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { acknowledged, listen, updated } from '../../host/listen.ts';
import { typescriptClient } from '../../interop/clients/typescript.ts';

/** The lamps of both tenants. */
const LAMPS = { resourceSubscriptions: ['lamp://acme/desk', 'lamp://globex/desk'] };
let workerd: Workerd;

beforeAll(async () => {
  const bundle = await bundleWorker('examples/tenants');
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle, durableObjects, compatibilityFlags: ['nodejs_compat'] });
});

afterAll(() => workerd?.stop());

test('a change of one tenant reaches its streams in every isolate, and no other tenant', async () => {
  const acme = [await streamOf('acme', 0), await streamOf('acme', 1)];
  const globex = await streamOf('globex', 0);
  await switchLamp('acme');
  for (const stream of acme) expect(await stream.message()).toBe(updated('1', 'lamp://acme/desk'));
  // Each tenant receives its own change next.
  await switchLamp('globex');
  expect(await globex.message()).toBe(updated('1', 'lamp://globex/desk'));
  await switchLamp('acme');
  for (const stream of acme) expect(await stream.message()).toBe(updated('1', 'lamp://acme/desk'));
});

test('each tenant has its own handler', async () => {
  for (const tenant of ['acme', 'globex']) {
    const { contents } = await (await clientOf(tenant, 0)).readResource({
      uri: `lamp://${tenant}/desk`,
    });
    expect(contents).toMatchObject([{ text: expect.stringContaining(`A lamp of ${tenant} `) }]);
  }
});

test.each(['/initech/mcp', '/acme', '/'])(
  'the Worker responds to a request for %s itself',
  async (path) => {
    const response = await fetch(`${workerd.edges[0]}${path}`, { method: 'POST' });
    expect([response.status, await response.text()]).toEqual([
      404,
      'The lamps are at /acme/mcp and /globex/mcp.\n',
    ]);
  },
);

/** Opens a stream at a tenant for the lamps of both tenants. */
async function streamOf(tenant: string, edge: number) {
  const stream = await listen(`${workerd.edges[edge]}/${tenant}/mcp`, LAMPS);
  onTestFinished(() => stream.drop());
  expect(await stream.message()).toBe(acknowledged('1', LAMPS));
  return stream;
}

async function switchLamp(tenant: string): Promise<void> {
  await (await clientOf(tenant, 1)).callTool({ name: 'switch', arguments: {} });
}

async function clientOf(tenant: string, edge: number) {
  const client = await typescriptClient(`${workerd.edges[edge]}/${tenant}/mcp`);
  onTestFinished(() => client.close());
  return client;
}
