import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { webhookObjectOf } from '../../../dist/cloudflare/wire/webhooks.js';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { type Endpoint, endpoint, endpointAt } from '../../host/endpoint.ts';
import { longestWait, waitsOf } from '../../host/processor.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { call, callersOf } from '../../host/webhook-callers.ts';

vi.setConfig({ testTimeout: 60_000 });

let workerd: Workerd;
let here: string;
let there: string;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    edges: 2,
    reachesLocal: true,
  });
  [here = '', there = ''] = workerd.edges;
}, 60_000);

afterAll(() => workerd?.stop());

async function subscribe(
  { url }: { url: string },
  topic: string,
  { caller = 'ada', name = 'noted' } = {},
): Promise<Record<string, unknown>> {
  const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
  const params = { name, arguments: { topic }, delivery };
  const { error, result } = await call(here, caller, 'events/subscribe', params);
  if (result === undefined) throw new Error(JSON.stringify(error));
  return result;
}

async function unsubscribe({ url }: Endpoint, topic: string, caller = 'ada'): Promise<void> {
  const params = { name: 'noted', arguments: { topic }, delivery: { url } };
  expect((await call(here, caller, 'events/unsubscribe', params)).result).toBeDefined();
}

async function send(path: string, ...body: unknown[]): Promise<Response> {
  const response = await fetch(`${there}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

async function post<T = unknown>(path: string, ...body: unknown[]): Promise<T> {
  return (await (await send(path, ...body)).json()) as T;
}

/** Disconnects a caller; rejects if the bus has not accepted that. */
async function disconnect(caller: string): Promise<void> {
  await send('disconnect', caller);
}

/** Publishes in another isolate than the subscriptions are made in. */
function publish(topic: string, id = '', name = 'noted'): Promise<unknown> {
  return post('notify', name, topic, id);
}

/** Calls a method of an object. */
function at<T = unknown>(object: string, method: string, ...args: unknown[]): Promise<T> {
  return post<T>(encodeURIComponent(object), method, ...args);
}

const ROOT = 'mcp-listen';
const FORBIDDEN = '{"error":{"forbidden":{}}}';
/** Further hosts of this machine (CONTRIBUTING.md, on macOS), each with two messages at a time. */
const [THERE, ELSEWHERE, FAR, FARTHER] = ['localhost', '::1', '127.0.0.2', '127.0.0.3'] as const;

/** The object that delivers for a caller. */
function objectFor(caller: string): string {
  return `${ROOT}/hooks-${webhookObjectOf(caller)}`;
}

/** Adds to the error of an assertion what the bus and the object of a caller know by then. */
async function explained(caller: string, assertion: PromiseLike<void>): Promise<void> {
  try {
    await assertion;
  } catch (cause) {
    const object = objectFor(caller);
    // None of these calls starts the bus or the object.
    const seen = (...call: Parameters<typeof at>) => at(...call).catch(String);
    const state = {
      now: Date.now(),
      counts: await seen(ROOT, 'counts'),
      busAlarm: await seen(ROOT, 'alarmAt'),
      objects: await seen(ROOT, 'rows', 'webhook_object'),
      disconnects: await seen(ROOT, 'rows', 'webhook_pending_disconnect'),
      alarm: await seen(object, 'alarmAt'),
      webhooks: await seen(object, 'rows', 'webhook'),
    };
    throw new Error(`${(cause as Error).message}\n${JSON.stringify(state)}`, { cause });
  }
}

interface Counts {
  starts: Record<string, number>;
  wakes: Record<string, number>;
}

/** The name of the only object that has followed since, and delivers for this caller. */
async function objectOf(url: string): Promise<string> {
  const { starts } = await at<Counts>(ROOT, 'counts');
  for (const name of Object.keys(starts).filter((name) => name.includes('/hooks-'))) {
    const rows = await at<{ text: string }[]>(name, 'rows', 'webhook');
    if (rows.some(({ text }) => text.includes(url))) return name;
  }
  throw new Error('no object has this webhook');
}

function ids(hook: Endpoint): unknown[] {
  return hook.events.map(({ body }) => body['eventId']);
}

test('what one isolate publishes reaches a webhook that was subscribed in another', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const result = await subscribe(hook, 'a');
  expect(result).toMatchObject({ id: expect.stringMatching(/^sub_/), truncated: false });
  await publish('b', 'other');
  await publish('a', 'one');
  await expect.poll(() => ids(hook)).toEqual(['one']);
  expect(hook.received.map(({ signers }) => signers)).toEqual([[HOOK_SECRET], [HOOK_SECRET]]);
  const params = { name: 'noted', arguments: { topic: 'a' }, delivery: { url: hook.url } };
  expect((await call(there, 'ada', 'events/unsubscribe', params)).result).toBeDefined();
  await publish('a', 'after');
  await setTimeout(300);
  expect(ids(hook)).toEqual(['one']);
});

test('functions of the definitions decide in the object', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'a', { name: 'judged' });
  for (const topic of ['b', 'a']) await publish(topic, topic, 'judged');
  await expect.poll(() => ids(hook)).toEqual(['a']);
});

test('a secret is stored encrypted', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'a');
  const rows = await at<{ text: string }[]>(await objectOf(hook.url), 'rows', 'webhook');
  const row = rows.find(({ text }) => text.includes(hook.url));
  expect(row?.text).toContain('sealed_');
  expect(row?.text).not.toContain('whsec_');
});

test('nothing is lost while the deliverer and its bus are reset, again and again', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'r');
  const object = await objectOf(hook.url);
  let requests = 0;
  hook.reply = () => {
    requests += 1;
    return requests % 5 === 2 ? 500 : undefined;
  };
  const published: string[] = [];
  for (let round = 0; round < 12; round += 1) {
    const batch = Array.from({ length: 5 }, (_, index) => `r${round}-${index}`);
    await Promise.all([
      ...batch.map((id) =>
        publish('r', id).then(
          () => published.push(id),
          () => {},
        ),
      ),
      setTimeout(round * 3).then(() => at(round % 3 === 0 ? ROOT : object, 'reset')),
    ]);
  }
  await publish('r', 'last');
  expect(published.length).toBeGreaterThan(20);
  const missing = () => [...published, 'last'].filter((id) => !ids(hook).includes(id));
  await expect.poll(missing, { timeout: 50_000 }).toEqual([]);
});

test('a bus that is reset between a publish and its call wakes the deliverer', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'w');
  await setTimeout(1_100);
  await at(ROOT, 'refuseWakes', true);
  await publish('w', 'owed');
  await at(ROOT, 'reset');
  await at(ROOT, 'refuseWakes', false);
  await expect.poll(() => ids(hook), { timeout: 15_000 }).toEqual(['owed']);
});

test('an endpoint that never responds delays no endpoint of another host', async () => {
  const [slow, swift] = [await endpoint(HOOK_SECRET), await endpointAt(THERE, HOOK_SECRET)];
  for (const hook of [slow, swift]) await subscribe(hook, 's');
  await setTimeout(1_100);
  await publishWithoutResponse([slow], 's');
  await expect.poll(() => new Set(ids(swift)).size).toBe(10);
  // Neither of the two messages that the host may have at a time has ended.
  expect(ids(slow).length).toBeLessThanOrEqual(2);
  for (const hook of [slow, swift]) await unsubscribe(hook, 's');
});

test('endpoints that never respond delay the other subscriptions of their caller once, and no other caller of their object', async () => {
  const [busy, other = ''] = callersOf(9, 2);
  const slow = [await endpoint(HOOK_SECRET), await endpointAt(THERE, HOOK_SECRET)];
  const own = await endpointAt(ELSEWHERE, HOOK_SECRET);
  const swift = await endpointAt(ELSEWHERE, HOOK_SECRET);
  for (const hook of slow) await subscribe(hook, 'm', { caller: busy });
  await subscribe(own, 'n', { caller: busy });
  await subscribe(swift, 'n', { caller: other });
  await setTimeout(1_100);
  await publishWithoutResponse(slow, 'm');
  await expect.poll(() => slow.flatMap(ids)).toHaveLength(3);
  await publish('n', 'n');
  await expect.poll(() => ids(swift)).toEqual(['n']);
  // None of the three messages that their caller may have at a time has ended.
  expect(slow.flatMap(ids)).toHaveLength(3);
  expect(ids(own)).toEqual([]);
  await expect.poll(() => ids(own)).toEqual(['n']);
  // Now both hosts are known to be slow, and have two messages together.
  await expect.poll(() => slow.flatMap(ids)).toHaveLength(5);
  await publish('n', 'again');
  await expect.poll(() => ids(own)).toEqual(['n', 'again']);
  expect(slow.flatMap(ids)).toHaveLength(5);
  for (const hook of slow) await unsubscribe(hook, 'm', busy);
  await unsubscribe(own, 'n', busy);
  await unsubscribe(swift, 'n', other);
});

test('endpoints of three callers that never respond delay a message of another caller once, by ten seconds at most', async () => {
  const [one, two = '', three = '', other = ''] = callersOf(11, 4);
  const places = [
    { caller: one, topic: 'a', addresses: ['127.0.0.1', THERE], sent: 3 },
    { caller: two, topic: 'b', addresses: [ELSEWHERE], sent: 2 },
    { caller: three, topic: 'c', addresses: [FAR], sent: 1 },
  ];
  const swift = await endpointAt(FARTHER, HOOK_SECRET);
  await subscribe(swift, 'u', { caller: other });
  const slow: Endpoint[] = [];
  for (const { addresses, caller, sent, topic } of places) {
    const hooks = await Promise.all(addresses.map((address) => endpointAt(address, HOOK_SECRET)));
    for (const hook of hooks) await subscribe(hook, topic, { caller });
    onTestFinished(async () => {
      for (const hook of hooks) await unsubscribe(hook, topic, caller);
    });
    await setTimeout(1_100);
    await publishWithoutResponse(hooks, topic);
    await expect.poll(() => hooks.flatMap(ids)).toHaveLength(sent);
    slow.push(...hooks);
  }
  // The messages that are in its way end ten seconds after they were sent.
  expect(await delayOf(swift, 'first')).toBeLessThan(12_000);
  // Now all their hosts are known to be slow, and their next messages leave places to others.
  await expect.poll(() => slow.flatMap(ids).length).toBeGreaterThan(6);
  for (let number = 0; number < 10; number += 1) {
    expect(await delayOf(swift, `next-${number}`)).toBeLessThan(5_000);
  }
  await unsubscribe(swift, 'u', other);
});

/** Publishes an event. Resolves once it has arrived, with the milliseconds that it has taken. */
async function delayOf(hook: Endpoint, id: string): Promise<number> {
  const waits = () => waitsOf([process.pid, workerd.pid]);
  const [before, since] = [await waits(), performance.now()];
  await publish('u', id);
  await expect.poll(() => ids(hook)).toContain(id);
  return performance.now() - since - longestWait(before, await waits());
}

/** Publishes ten events for a topic, which these endpoints never acknowledge. */
async function publishWithoutResponse(hooks: Endpoint[], topic: string): Promise<void> {
  for (const hook of hooks) hook.reply = ({ body }) => ('eventId' in body ? 'never' : undefined);
  for (let number = 0; number < 10; number += 1) await publish(topic, `${topic}${number}`);
}

test('a caller that is disconnected loses its subscriptions', async () => {
  const [mine, other] = [await endpoint(HOOK_SECRET), await endpoint(HOOK_SECRET)];
  await subscribe(mine, 'd', { caller: 'eve' });
  await subscribe(other, 'd');
  await disconnect('eve');
  await expect.poll(() => mine.received.at(-1)?.body).toMatchObject({ type: 'terminated' });
  await publish('d', 'kept');
  await expect.poll(() => ids(other)).toEqual(['kept']);
  expect(ids(mine)).toEqual([]);
});

test('a call from before its caller was disconnected is refused, by an object without subscriptions too, and after its restart', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const call = {
    ...{ principal: 'zoe', groups: [], name: 'noted', arguments: '{"topic":"z"}' },
    ...{ url: hook.url, secret: HOOK_SECRET, ttl: 'default', codes: 'sep', askedAt: Date.now() },
  };
  await disconnect('zoe');
  const object = objectFor('zoe');
  const starts = async () => (await at<Counts>(ROOT, 'counts')).starts;
  await expect.poll(starts).toMatchObject({ [object]: 1 });
  const subscribeAgain = () => at<string>(object, 'subscribeWebhook', JSON.stringify(call));
  expect(await subscribeAgain()).toBe(FORBIDDEN);
  await at(object, 'reset');
  expect(await subscribeAgain()).toBe(FORBIDDEN);
  expect(hook.received).toEqual([]);
});

/**
 * Resets the bus. Then a request starts it, as requests do in a real system: it sets its alarm for
 * its pending calls again. Whether the platform still has the previous alarm is not what is tested.
 */
async function restart(caller: string): Promise<void> {
  await at(ROOT, 'reset');
  const poll = () => call(there, caller, 'events/poll', { name: 'noted' });
  await expect.poll(poll).toHaveProperty('result');
}

test.each([
  ['lea', 'a bus', async () => {}],
  ['leo', 'a bus that was reset meanwhile', restart],
])(
  'a disconnect of %s that %s relays late ends what was there before, and nothing that was made later',
  async (caller, _, meanwhile) => {
    const [before, after] = [await endpoint(HOOK_SECRET), await endpoint(HOOK_SECRET)];
    await subscribe(before, caller, { caller });
    await at(ROOT, 'refuseWakes', true);
    await disconnect(caller);
    await setTimeout(3_000); // Longer than a late call of the bus takes.
    await subscribe(after, caller, { caller });
    await meanwhile(caller);
    await at(ROOT, 'refuseWakes', false);
    const ended = () => before.received.at(-1)?.body;
    const polling = { timeout: 15_000 };
    await explained(caller, expect.poll(ended, polling).toMatchObject({ type: 'terminated' }));
    await publish(caller, caller);
    await explained(caller, expect.poll(() => ids(after)).toEqual([caller]));
    expect(ids(before)).toEqual([]);
  },
);

test('a log of another epoch is a gap, and deliveries go on', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'g');
  await setTimeout(1_100);
  await at(ROOT, 'forget');
  await publish('g', 'new');
  await expect.poll(() => ids(hook)).toEqual(['new']);
  const kinds = hook.received.map(({ body }) => body['type']);
  expect(kinds).toContain('gap');
});

test('five hundred subscriptions sleep in an object that takes no more, and cost a call where an event is theirs', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const [beyond, ...callers] = callersOf(7, 6);
  for (const caller of callers) {
    // The endpoint consents once for a caller.
    await subscribe(hook, '0', { caller });
    const topics = Array.from({ length: 99 }, (_, n) => `${n + 1}`);
    await Promise.all(topics.map((topic) => subscribe(hook, topic, { caller })));
    // Otherwise the object would post to an endpoint that is gone during the tests that follow.
    onTestFinished(async () => {
      await Promise.all(['0', ...topics].map((topic) => unsubscribe(hook, topic, caller)));
    });
  }
  const more = subscribe(hook, 'more', { caller: beyond });
  await expect(more).rejects.toThrow('"data":{"limit":"subscriptions","max":500}');
  const renewed = await subscribe(hook, '0', { caller: callers[0] ?? '' });
  expect(renewed).toMatchObject({ truncated: false });
  expect((await at<{ webhooks: number }>(ROOT, 'stats')).webhooks).toBeGreaterThanOrEqual(500);
  const full = { deliveries: { subscriptions: 500 } };
  expect(await at(`${ROOT}/hooks-7`, 'stats')).toMatchObject(full);
  // workerd evicts an object after ten seconds without work.
  await setTimeout(15_000);
  const before = await at<Counts>(ROOT, 'counts');
  await publish('7', 'awake');
  await expect.poll(() => hook.events.length).toBe(5);
  const after = await at<Counts>(ROOT, 'counts');
  // Objects of other tests may be awake, since their endpoints are gone and they try again.
  const object = `${ROOT}/hooks-7`;
  const countsOf = ({ starts, wakes }: Counts) => [starts[object] ?? 0, wakes[object] ?? 0];
  expect(countsOf(after)).toEqual(countsOf(before).map((count) => count + 1));
});

test('a bus that starts empty after three failed starts still knows its webhooks', async () => {
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook, 'e');
  await publish('other', 'before');
  const { starts } = await at<Counts>(ROOT, 'counts');
  await at(ROOT, 'garble');
  const publishing = () =>
    publish('e', 'first').then(
      () => true,
      () => false,
    );
  const polling = { timeout: 15_000 };
  await explained('ada', expect.poll(publishing, polling).toBe(true));
  expect((await at<Counts>(ROOT, 'counts')).starts[ROOT]).toBe((starts[ROOT] ?? 0) + 4);
  await explained('ada', expect.poll(() => ids(hook), polling).toContain('first'));
});
