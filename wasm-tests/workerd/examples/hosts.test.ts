import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundled } from '../../host/bundle.ts';
import { Heard, typescriptClient } from '../../interop/typescript-client.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };

describe.each(['worker', 'worker-sdk', 'agents', 'hono'])('the example %s', (example) => {
  let workerd: Workerd;

  beforeAll(async () => {
    const bundle = await bundled(`examples/${example}`);
    const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
    workerd = await startWorkerd({ bundle, durableObjects, compatibilityFlags: ['nodejs_compat'] });
  });

  afterAll(() => workerd?.stop());

  test("tells the SDK's client in one isolate of a tool called in another, each time once", async () => {
    const listener = await typescriptClient(`${workerd.edges[0]}/mcp`);
    const other = await typescriptClient(`${workerd.edges[1]}/mcp`);
    const heard = new Heard(listener);
    const subscription = await listener.listen(LAMP);
    expect(subscription.honoredFilter).toEqual(LAMP);
    // The SDK acknowledges before its bus has confirmed: what is changed at once may come too
    // early.
    if (example === 'worker-sdk') await firstHeard(heard, other);
    for (let time = 0; time < 3; time += 1) {
      await switched(other);
      expect(await heard.next()).toBe('resources/updated lamp://desk');
    }
    expect(heard.waiting).toBe(0);
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  });
});

test.each(['worker.ts', 'wrangler.toml'])(
  'the README shows %s of the example worker as it is',
  async (file) => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    expect(readme).toContain(await readFile(join(root, 'examples/worker', file), 'utf8'));
  },
);

async function switched(client: Client): Promise<void> {
  const { content } = await client.callTool({ name: 'switch', arguments: {} });
  expect(content).toMatchObject([{ text: 'Switched.' }]);
}

/** Resolves when one of some changes was heard, and with it all that came before it. */
async function firstHeard(heard: Heard, client: Client): Promise<void> {
  await expect
    .poll(
      async () => {
        await switched(client);
        return heard.waiting;
      },
      { interval: 500 },
    )
    .toBeGreaterThan(0);
  // Whatever was under way when the last one was heard.
  await new Promise((resolve) => setTimeout(resolve, 500));
  while (heard.waiting > 0) await heard.next();
}
