import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundled } from '../host/bundle.ts';
import { acknowledged, listen, updated } from '../host/listen.ts';
import { Heard, typescriptClient } from '../interop/typescript-client.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };
let workerd: Workerd;

beforeAll(async () => {
  const bundle = await bundled('examples/tenants');
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle, durableObjects, compatibilityFlags: ['nodejs_compat'] });
});

afterAll(() => workerd?.stop());

test('what one tenant changes reaches its listeners in every isolate, and no other tenant', async () => {
  const acme = await streamOf('acme');
  const globex = await streamOf('globex');
  const client = await clientOf('acme', 1);
  const heard = new Heard(client);
  const subscription = await client.listen(LAMP);
  await (await clientOf('acme', 1)).callTool({ name: 'switch', arguments: {} });
  expect(await acme.message()).toBe(updated('1', 'lamp://desk'));
  expect(await heard.next()).toBe('resources/updated lamp://desk');
  // The first that the other tenant receives is what it changes itself.
  const other = await clientOf('globex', 1);
  await other.callTool({ name: 'switch', arguments: {} });
  expect(await globex.message()).toBe(updated('1', 'lamp://desk'));
  expect(heard.waiting).toBe(0);
  await subscription.close();
});

test('each tenant has the handler that was made for it', async () => {
  for (const tenant of ['acme', 'globex']) {
    const { contents } = await (await clientOf(tenant, 0)).readResource({ uri: 'lamp://desk' });
    expect(contents).toMatchObject([{ text: expect.stringContaining(`A lamp of ${tenant} `) }]);
  }
});

test.each(['/initech/mcp', '/acme', '/'])('a request for %s is left to the Worker', async (path) => {
  const answer = await fetch(`${workerd.edges[0]}${path}`, { method: 'POST' });
  expect([answer.status, await answer.text()]).toEqual([404, 'The lamps are at /acme/mcp and /globex/mcp.\n']);
});

/** Opens a stream of a tenant in the first isolate. */
async function streamOf(tenant: string) {
  const stream = await listen(`${workerd.edges[0]}/${tenant}/mcp`, LAMP);
  onTestFinished(() => stream.drop());
  expect(await stream.message()).toBe(acknowledged('1', LAMP));
  return stream;
}

async function clientOf(tenant: string, edge: number) {
  const client = await typescriptClient(`${workerd.edges[edge]}/${tenant}/mcp`);
  onTestFinished(() => client.close());
  return client;
}
