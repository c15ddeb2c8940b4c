import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { callRequest } from '../../host/call.ts';
import { CHANGED, casesOf, type WireCall, type WireTable } from '../../host/corpus/wire.ts';
import { type Endpoint, endpoint } from '../../host/endpoint.ts';
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
  const response = await post(encodeURIComponent(object), method, ...args);
  return (await response.json()) as T;
}

async function post(path: string, ...body: unknown[]): Promise<Response> {
  const init = { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${workerd.edges[0]}/${path}`, init);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

async function poll(params: object): Promise<{ result: Record<string, unknown> }> {
  const response = await fetch(
    callRequest(`${workerd.edges[0]}/mcp`, 'events/poll', { ...params }),
  );
  return (await response.json()) as { result: Record<string, unknown> };
}

/** Disconnects a caller while its object cannot learn of it, and then subscribes for it. */
async function subscribedLater(caller: string): Promise<Endpoint> {
  const hook = await endpoint(HOOK_SECRET);
  await at(ROOT, 'refuseWakes', true);
  await post('disconnect', caller);
  await setTimeout(50);
  const delivery = { mode: 'webhook', url: hook.url, secret: HOOK_SECRET };
  const params = { name: 'noted', arguments: { topic: caller }, delivery };
  const request = callRequest(`${workerd.edges[0]}/mcp`, 'events/subscribe', params);
  request.headers.set('authorization', caller);
  expect(await (await fetch(request)).json()).toHaveProperty('result.id');
  return hook;
}

/** Resets the bus after a statement has changed its storage, and lets its objects learn of it. */
async function restart(statement: string): Promise<void> {
  await at(ROOT, 'execute', statement);
  await at(ROOT, 'refuseWakes', false);
  await post('notify', 'noted', 'other');
  await expect
    .poll(() => at(ROOT, 'rows', 'webhook_pending_disconnect'), { timeout: 15_000 })
    .toEqual([]);
}

const ROOT = 'mcp-listen';
/** Deletes all events but the last. */
const TRIM = 'DELETE FROM event WHERE position < (SELECT MAX(position) FROM event)';

const FORBIDDEN = '{"error":{"forbidden":{}}}';

test('calls of wire 3 get the replies of that version', async () => {
  for (const { call, name, object, response } of casesOf<WireCall>('webhooks/calls')) {
    const [method, argument] = call as [string, object];
    const text = await at<string | null>(object, method, JSON.stringify(argument));
    const given = text && JSON.parse(text.replace(/(?<="epoch":")[^"]+/, 'an epoch'));
    expect([name, given], CHANGED).toEqual([name, response]);
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
  const disconnects = [{ principal: 'zoe', publishedAt: 1 }];
  const call = { names: [], epoch: '', head: 0, disconnects, sentAt: 2 };
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

test('a disconnect that a bus relays after its log was trimmed ends nothing that was made later', async () => {
  const hook = await subscribedLater('lia');
  await post('notify', 'noted', 'other');
  await restart(TRIM);
  await post('notify', 'noted', 'lia', 'kept');
  await expect.poll(() => hook.events.map(({ body }) => body['eventId'])).toEqual(['kept']);
});

test('a bus that starts without the alarm for its pending calls sets one', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const delivery = { mode: 'webhook', url: hook.url, secret: HOOK_SECRET };
  const params = { name: 'noted', arguments: { topic: 'lars' }, delivery };
  const request = callRequest(`${workerd.edges[0]}/mcp`, 'events/subscribe', params);
  request.headers.set('authorization', 'lars');
  expect(await (await fetch(request)).json()).toHaveProperty('result.id');
  await at(ROOT, 'refuseWakes', true);
  await post('disconnect', 'lars');
  await at(ROOT, 'loseAlarm');
  await at(ROOT, 'refuseWakes', false);
  await poll({ name: 'noted' });
  const last = () => hook.received.at(-1)?.body;
  await expect.poll(last, { timeout: 10_000 }).toMatchObject({ type: 'terminated' });
});

test('a log with too many bytes loses its oldest occurrences, and keeps most of the others', async () => {
  const { result: before } = await poll({ name: 'noted' });
  for (let number = 0; number < 60; number += 1)
    await post('notify', 'noted', 'x'.repeat(5_000), `large-${number}`);
  const rows = await at<{ event_id: string; text: string }[]>(ROOT, 'rows', 'event_log');
  const large = rows.filter(({ event_id }) => event_id?.startsWith('large-'));
  const bytes = large.reduce((sum, { text }) => sum + text.length, 0);
  expect(bytes).toBeGreaterThan(150_000);
  expect(bytes).toBeLessThan(200_000);
  expect(large.at(-1)?.event_id).toBe('large-59');
  const params = { name: 'noted', cursor: before?.['cursor'] };
  const { result: after } = await poll(params);
  expect(after).toMatchObject({ truncated: true });
});
