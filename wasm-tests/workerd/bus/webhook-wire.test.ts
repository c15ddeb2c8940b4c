import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { CHANGED, casesOf, type WireCall, type WireTable } from '../../host/corpus/wire.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    reachesLocal: true,
  });
}, 60_000);

afterAll(() => workerd?.stop());

/** Calls a method of an object. */
async function at<T = unknown>(object: string, method: string, ...args: unknown[]): Promise<T> {
  const url = `${workerd.edges[0]}/${encodeURIComponent(object)}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify([method, ...args]) });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const FORBIDDEN = '{"error":{"forbidden":{}}}';

test('calls of wire 3 get the answers of that version', async () => {
  for (const { answer, call, name, object } of casesOf<WireCall>('webhooks/calls')) {
    const [method, argument] = call as [string, object];
    const text = await at<string | null>(object, method, JSON.stringify(argument));
    const given = text && JSON.parse(text.replace(/(?<="epoch":")[^"]+/, 'an epoch'));
    expect([name, given], CHANGED).toEqual([name, answer]);
  }
});

test('an object reads the rows of wire 3, and creates tables like these', async () => {
  const tables = casesOf<WireTable>('webhooks/rows');
  for (const object of ['corpus', 'corpus/hooks-1', 'corpus/hooks-2']) {
    const role = object === 'corpus/hooks-2' ? 'corpus/hooks-1' : object;
    const own = tables.filter((table) => table.object === role);
    if (object === 'corpus/hooks-1') await at(object, 'restore', own);
    else await at(object, 'stats');
    const created = (await at<string[]>(object, 'tables')).filter((text) => /webhook/.test(text));
    expect(created.sort(), CHANGED).toEqual(own.flatMap(({ create }) => create).sort());
  }
  // An object whose subscriptions it has read asks the bus to wake it for them.
  const call = { names: [], epoch: '', head: 0, revoked: ['nobody'] };
  await at('corpus/hooks-1', 'wakeWebhooks', JSON.stringify(call));
  await expect
    .poll(() => at('corpus', 'rows', 'webhook_name'))
    .toContainEqual({ object: 1, name: 'noted' });
  const late = {
    ...{ principal: 'eve', groups: [], name: 'noted', arguments: '{}', url: 'http://127.0.0.1:9/' },
    ...{ secret: HOOK_SECRET, ttl: 'default', codes: 'sep', askedAt: 4_102_444_800_000 },
  };
  expect(await at('corpus/hooks-1', 'subscribeWebhook', JSON.stringify(late))).toBe(FORBIDDEN);
});
