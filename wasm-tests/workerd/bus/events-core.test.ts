import { afterAll, beforeAll, expect, test } from 'vitest';
import { webhookObjectOf } from '../../../dist/cloudflare/wire/webhooks.js';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { heapOf } from '../../faults/judgement/heap.ts';
import { bundleWorker } from '../../host/bundle.ts';
import { callRequest } from '../../host/call.ts';
import { type Endpoint, endpoint } from '../../host/endpoint.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    // For a test that makes objects hibernate at once.
    ...{ compatibilityFlags: ['unsafe_module'], isExperimental: true },
    ...{ edges: 1, inspected: true, reachesLocal: true },
  });
}, 60_000);

afterAll(() => workerd?.stop());

async function send(path: string, ...body: unknown[]): Promise<unknown> {
  const init = { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${workerd.edges[0]}/${path}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Serves an endpoint that has subscribed for a caller, to the topic of the same name. */
async function subscribed(caller: string): Promise<Endpoint> {
  const hook = await endpoint(HOOK_SECRET);
  const request = callRequest(`${workerd.edges[0]}/mcp`, 'events/subscribe', {
    name: 'noted',
    arguments: { topic: caller },
    delivery: { mode: 'webhook', url: hook.url, secret: HOOK_SECRET },
  });
  request.headers.set('authorization', caller);
  expect(await (await fetch(request)).json()).toHaveProperty('result.id');
  return hook;
}

/** Publishes an event for a caller. A publish with an id is repeated until the bus has it. */
async function publish(caller: string, id = ''): Promise<void> {
  await send('notify', 'noted', caller, id);
}

/** Resolves once an endpoint has received an event. */
async function received(hook: Endpoint, id: string): Promise<void> {
  const ids = () => hook.events.map(({ body }) => body['eventId']);
  await expect.poll(ids, { timeout: 15_000 }).toContain(id);
}

/** How often each object was constructed. */
async function starts(): Promise<Record<string, number>> {
  return ((await send(ROOT, 'counts')) as { starts: Record<string, number> }).starts;
}

/** How many instances of an object there are after a collection in the isolate of the objects. */
async function instancesOf(object: string): Promise<number> {
  const uncollected = () => fetch(`${workerd.bus}/uncollected`);
  await heapOf(workerd.inspector, uncollected, 'bus');
  const names = (await (await uncollected()).json()) as string[];
  return names.filter((name) => name === object).length;
}

/** The object that delivers for a caller. */
function objectFor(caller: string): string {
  return `${ROOT}/hooks-${webhookObjectOf(caller)}`;
}

const ROOT = 'mcp-listen';

test('objects that hibernate are collected, and wake as new ones', async () => {
  const hook = await subscribed('ada');
  const objects = [ROOT, objectFor('ada')];
  for (let round = 0; round < 20; round += 1) {
    await publish('ada', `round-${round}`);
    await received(hook, `round-${round}`);
    for (const object of objects) await send('evict', object);
  }
  const started = await starts();
  for (const object of objects) {
    expect(started[object]).toBeGreaterThan(19);
    const polling = { timeout: 20_000 };
    await expect.poll(() => instancesOf(object), polling).toBeLessThanOrEqual(2);
  }
}, 120_000);

test('a trap of the core resets all objects that use it, whichever of them called it', async () => {
  const callers = ['bob', 'eve'];
  const hooks = await Promise.all(callers.map(subscribed));
  // After that the bus is the last one that has begun to use the core.
  await send(ROOT, 'reset');
  for (const caller of callers) await publish(caller, `${caller}-before`);
  for (const [index, hook] of hooks.entries()) await received(hook, `${callers[index]}-before`);
  const before = await starts();
  await fetch(`${workerd.bus}/poison`);
  await publish('other').catch(() => {});
  for (const caller of callers) await publish(caller, `${caller}-after`);
  for (const [index, hook] of hooks.entries()) await received(hook, `${callers[index]}-after`);
  const after = await starts();
  for (const object of [ROOT, ...callers.map(objectFor)])
    expect(after[object]).toBeGreaterThan(before[object] ?? 0);
});
