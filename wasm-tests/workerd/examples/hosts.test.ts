import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { Notifications, typescriptClient } from '../../interop/clients/typescript.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };

describe.each(['worker', 'worker-sdk', 'agents', 'hono'])('the example %s', (example) => {
  let workerd: Workerd;

  beforeAll(async () => {
    const bundle = await bundleWorker(`examples/${example}`);
    const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
    workerd = await startWorkerd({ bundle, durableObjects, compatibilityFlags: ['nodejs_compat'] });
  });

  afterAll(() => workerd?.stop());

  test("notifies the SDK's client in one isolate of each tool call in another, once", async () => {
    const listener = await typescriptClient(`${workerd.edges[0]}/mcp`);
    const other = await typescriptClient(`${workerd.edges[1]}/mcp`);
    const received = new Notifications(listener);
    const subscription = await listener.listen(LAMP);
    expect(subscription.honoredFilter).toEqual(LAMP);
    // The SDK acknowledges before its bus has confirmed, and may miss a change until then.
    if (example === 'worker-sdk') await receiveFirst(received, other);
    for (let time = 0; time < 3; time += 1) {
      await switchLamp(other);
      expect(await received.next()).toBe('resources/updated lamp://desk');
    }
    expect(received.waiting).toBe(0);
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  });
});

test.each(['worker.ts', 'wrangler.toml'])(
  'the README shows %s of the example worker unchanged',
  async (file) => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    expect(readme).toContain(await readFile(join(root, 'examples/worker', file), 'utf8'));
  },
);

async function switchLamp(client: Client): Promise<void> {
  const { content } = await client.callTool({ name: 'switch', arguments: {} });
  expect(content).toMatchObject([{ text: 'Switched.' }]);
}

/** Makes changes until one arrives, and discards everything that has arrived. */
async function receiveFirst(received: Notifications, client: Client): Promise<void> {
  await expect
    .poll(
      async () => {
        await switchLamp(client);
        return received.waiting;
      },
      { interval: 500 },
    )
    .toBeGreaterThan(0);
  // Changes that were under way then.
  await new Promise((resolve) => setTimeout(resolve, 500));
  while (received.waiting > 0) await received.next();
}
