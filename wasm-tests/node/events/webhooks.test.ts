import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { endpoint, type Received } from '../../host/endpoint.ts';
import { elapsed, pass, settle, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET, NEXT_SECRET } from '../../host/webhook.ts';
import { deploy, emptyStore, type Store, webhookOf } from './deployments.ts';
import { received, serving } from './webhook-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('an endpoint that consents receives each matching event, signed', async () => {
  const { publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  const { result } = await subscribe(hook.url, { arguments: { customer: 'acme' } });
  expect(result).toMatchObject({
    id: expect.stringMatching(/^sub_[0-9a-f]{32}$/),
    refreshBefore: new Date(Date.now() + 3_600_000).toISOString(),
    cursor: expect.any(String),
    truncated: false,
  });
  await publish({ customer: 'acme' }, 'one');
  await publish({ customer: 'other' }, 'two');
  await publish({ customer: 'acme' }, 'three');
  await pass(1_100);
  await received(hook, 2);
  expect(hook.received.map(({ signers }) => signers)).toEqual(Array(3).fill([HOOK_SECRET]));
  const bodies = hook.events.map(({ body }) => body['eventId']);
  expect(bodies.sort()).toEqual(['one', 'three']);
  for (const { body, headers } of hook.received)
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-mcp-subscription-id': result?.['id'],
      'webhook-id': body['eventId'] ?? expect.stringMatching(/^msg_verification_/),
    });
});

test('webhooks are listed for callers with a name', async () => {
  const { call } = serving();
  const { result } = await call('events/list', {});
  expect(result?.['events']).toMatchObject([
    { name: 'looked' },
    { name: 'measured', delivery: ['poll', 'push', 'webhook'] },
    { name: 'order.paid' },
    { name: 'titled' },
  ]);
});

test.each([
  ['another challenge', { status: 200, body: '{"challenge":"no"}' }, 'challenge_failed'],
  ['an error', 500, 'challenge_failed'],
  ['a redirect', { status: 307, headers: { location: '/other' } }, 'challenge_failed'],
])(
  'an endpoint that responds to the challenge with %s receives nothing',
  async (_, reply, reason) => {
    const { publish, subscribe } = serving();
    const hook = await endpoint(HOOK_SECRET);
    hook.reply = () => reply;
    const { error } = await subscribe(hook.url);
    expect(error).toMatchObject({ data: { reason } });
    await publish({ customer: 'acme' });
    await pass(2_000);
    await settle();
    expect(hook.received).toHaveLength(1);
  },
);

test('an endpoint that is not there is refused', async () => {
  const { subscribe } = serving();
  const { error } = await subscribe('http://127.0.0.1:1/hook');
  expect(error).toMatchObject({ data: { reason: 'connection_refused' } });
});

test('a failed message is sent again with its id, and a 410 is final', async () => {
  const { publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url);
  const statuses = [204, 500, 204, 410];
  hook.reply = ({ body }) => ('eventId' in body ? statuses.shift() : undefined);
  await publish({}, 'first');
  await pass(1_100);
  await received(hook, 1);
  for (const [id, wait] of [
    ['again', 6_500],
    ['gone', 900_000],
  ] as const) {
    await publish({}, id);
    await until(() => hook.events.at(-1)?.body['eventId'] === id);
    await settle();
    await pass(wait);
    await settle();
  }
  const ids = hook.events.map(({ body }) => body['eventId']);
  expect(ids).toEqual(['first', 'again', 'again', 'gone']);
  const [, one, other] = hook.events;
  expect(one?.headers['webhook-id']).toBe(other?.headers['webhook-id']);
  expect(one?.headers['webhook-timestamp']).not.toBe(other?.headers['webhook-timestamp']);
});

test('a new secret takes over, and the former one signs too for a while', async () => {
  const { publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET, NEXT_SECRET);
  const first = await subscribe(hook.url);
  const delivery = { url: hook.url, secret: NEXT_SECRET };
  const second = await subscribe(hook.url, { delivery });
  expect(second.result).toMatchObject({
    id: first.result?.['id'],
    deliveryStatus: { active: true, throttled: false },
  });
  await publish({}, 'both');
  await pass(1_100);
  await received(hook, 1);
  expect(hook.events[0]?.signers).toEqual([HOOK_SECRET, NEXT_SECRET]);
  await pass(900_001);
  await publish({}, 'new');
  await received(hook, 2);
  expect(hook.events[1]?.signers).toEqual([NEXT_SECRET]);
});

test('no event is sent after the end of a subscription', async () => {
  const { call, publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url, { ttlMs: 1 });
  await pass(300_001);
  await publish({}, 'late');
  const other = await endpoint(HOOK_SECRET);
  await subscribe(other.url);
  const params = { name: 'order.paid', delivery: { mode: 'webhook', url: other.url } };
  expect(await call('events/unsubscribe', params, 'bob')).toMatchObject({ result: {} });
  await publish({}, 'mine');
  await pass(1_100);
  await received(other, 1);
  for (const _ of [1, 2])
    expect(await call('events/unsubscribe', params)).toMatchObject({ result: {} });
  await publish({}, 'over');
  await pass(2_000);
  await settle();
  expect([...hook.events, ...other.events]).toHaveLength(1);
});

test('a caller that is disconnected loses its subscriptions, and the endpoint learns it', async () => {
  const { publish, server, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url);
  await pass(1_100);
  await server.disconnect('ada');
  await until(() => hook.received.length === 2);
  expect(hook.received[1]?.body).toMatchObject({
    type: 'terminated',
    error: { code: -32_012, message: expect.any(String) },
  });
  await publish({}, 'after');
  await settle();
  expect(hook.events).toEqual([]);
});

// Minutes of the virtual clock in short steps, which take seconds of processor time.
test('an event that no endpoint accepts is abandoned, and the next success is followed by a gap', {
  timeout: 90_000,
}, async () => {
  const { publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  const { result } = await subscribe(hook.url);
  await pass(1_100);
  const isCursed = ({ body }: Received) => body['eventId'] === 'cursed';
  hook.reply = (message) => (isCursed(message) ? 500 : undefined);
  await publish({}, 'cursed');
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    // In short steps: a message must not be under way for ten seconds of the virtual clock.
    await elapsed(() => hook.events.filter(isCursed).length >= attempt, 4_000);
    // The endpoint is not down: it accepts other events.
    await publish({}, `blessed-${attempt}`);
    await until(() => hook.events.some(({ body }) => body['eventId'] === `blessed-${attempt}`));
    await settle();
  }
  await until(() => hook.received.some(({ body }) => body['type'] === 'gap'));
  const gap = hook.received.find(({ body }) => body['type'] === 'gap');
  expect(gap?.body).toEqual({ type: 'gap', cursor: result?.['cursor'] });
  expect((await subscribe(hook.url)).result).toMatchObject({ truncated: true });
});

test('functions decide what matches, and what is delivered', async () => {
  const { server, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url, { name: 'measured', arguments: { least: 5 } });
  for (const value of [3, 7]) await server.notify.event('measured', { value });
  await pass(1_100);
  await received(hook, 1);
  await settle();
  expect(hook.events.map(({ body }) => body['data'])).toEqual([{ value: 7, least: 5 }]);
});

test('a transform that cuts a character in half fails for its occurrence alone', async () => {
  const { errors, server, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url, { name: 'titled' });
  for (const title of ['\u{1f600}', 'plain']) await server.notify.event('titled', { title });
  await pass(1_100);
  await received(hook, 1);
  await settle();
  expect(hook.events.map(({ body }) => body['data'])).toEqual([{ title: 'p' }]);
  expect(errors).toMatchObject([{ code: 'invalid-event-data' }]);
});

test('a subscription is authorized again every so often', async () => {
  const asked: unknown[] = [];
  const { publish, subscribe } = serving({
    authorizationTtlMs: 60_000,
    authorize: (subscription) => asked.push(subscription) < 2,
  });
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url, { arguments: { customer: 'acme' } });
  await pass(60_001);
  await elapsed(() => asked.length === 1);
  await settle();
  await publish({ customer: 'acme' }, 'allowed');
  await received(hook, 1);
  await pass(60_001);
  await elapsed(() => hook.received.some(({ body }) => body['type'] === 'terminated'));
  const about = {
    principal: 'ada',
    groups: [],
    name: 'order.paid',
    arguments: { customer: 'acme' },
  };
  expect(asked).toEqual([about, about]);
});

test('a subscription is not authorized again if authorizationTtlMs is 0', async () => {
  let asked = 0;
  const authorize = () => ++asked > 0;
  const { publish, subscribe } = serving({ authorizationTtlMs: 0, authorize });
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url);
  await pass(3_000_000);
  await publish({}, 'later');
  await received(hook, 1);
  expect(asked).toBe(0);
});

test('a caller has a hundred subscriptions at most, and a renewal always passes', async () => {
  const { rows, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  const of = (customer: number, caller?: string) =>
    subscribe(hook.url, { arguments: { customer: `${customer}` } }, caller);
  for (let customer = 1; customer <= 100; customer += 1)
    expect((await of(customer)).result).toBeDefined();
  expect(await of(101)).toMatchObject({ error: { data: { limit: 'subscriptions', max: 100 } } });
  expect((await of(100)).result).toBeDefined();
  expect((await of(101, 'bob')).result).toBeDefined();
  expect(rows()).toHaveLength(101);
});

test('a secret is stored encrypted in memory, and signs all the same', async () => {
  const encryptionKey = Buffer.alloc(32, 7).toString('base64');
  const { publish, rows, subscribe } = serving({ encryptionKey });
  const hook = await endpoint(HOOK_SECRET, NEXT_SECRET);
  for (const secret of [HOOK_SECRET, NEXT_SECRET]) {
    const { result } = await subscribe(hook.url, { delivery: { url: hook.url, secret } });
    expect(rows()).toMatchObject([{ id: result?.['id'] }]);
    expect(rows()[0]?.text).toContain('"sealed_');
    expect(rows()[0]?.text).not.toContain('whsec_');
  }
  await publish({}, 'one');
  await pass(1_100);
  await received(hook, 1);
  expect(hook.events[0]?.signers).toEqual([HOOK_SECRET, NEXT_SECRET]);
});

test('each message may have its own id', async () => {
  const { publish, subscribe } = serving({ webhookId: 'message' });
  const hook = await endpoint(HOOK_SECRET);
  const statuses = [503];
  hook.reply = ({ body }) => ('eventId' in body ? statuses.shift() : undefined);
  await subscribe(hook.url);
  await subscribe(hook.url, { arguments: { customer: 'acme' } });
  await publish({ customer: 'acme' }, 'one');
  await pass(1_100);
  await received(hook, 2);
  await settle();
  await pass(6_500);
  await received(hook, 3);
  const sent = hook.events.map(({ headers }) => headers);
  const messages = new Set(
    sent.map((one) => `${one['x-mcp-subscription-id']} ${one['webhook-id']}`),
  );
  const ids = new Set(sent.map((one) => one['webhook-id']));
  // A retry repeats the id, and the other subscription has another one.
  expect([sent.length, messages.size]).toEqual([3, 2]);
  expect([...ids]).toEqual(Array(2).fill(expect.stringMatching(/^msg_[0-9a-f]{32}$/)));
});

test('a version that changes the schema of an event type ends its subscriptions', async () => {
  const store = emptyStore();
  const delivery = (type: string) => {
    const inputSchema = { type: 'object', properties: { customer: { type } } };
    return deploy(store, { noted: { inputSchema }, other: {} });
  };
  const hook = await endpoint(HOOK_SECRET);
  const former = delivery('string');
  for (const name of ['noted', 'other']) await former.subscribe({ ...webhookOf(hook), name });
  expect(store.rows.size).toBe(2);
  const newer = delivery('number');
  await until(() => hook.received.some(({ body }) => body['type'] === 'terminated'));
  expect(hook.received.at(-1)?.body).toMatchObject({
    error: { code: -32_014, data: { reason: 'schema_changed' } },
  });
  await until(() => store.rows.size === 1);
  expect(newer.stats.subscriptions).toBe(1);
});

test('calls at the same time do not exceed the limit of the bus', async () => {
  const elsewhere = 3;
  const store: Store = {
    ...emptyStore(),
    follow: async (_, subscriptions) => {
      await settle();
      return { epoch: 'e', head: 0, total: elsewhere + subscriptions };
    },
  };
  const url = 'http://127.0.0.1:9/hook';
  const options = { allowedOrigins: [new URL(url).origin], maxSubscriptions: elsewhere + 2 };
  const delivery = deploy(store, { noted: {} }, options);
  const subscribe = (n: number) =>
    delivery.subscribe({ ...webhookOf({ url }), arguments: JSON.stringify({ n }) });
  const results = await Promise.all(Array.from({ length: 5 }, (_, n) => subscribe(n)));
  const exhausted = { error: { resourceExhausted: { limit: 'subscriptions', max: 5 } } };
  // Web Crypto makes their ids at the same time, so any two of them may be the first.
  const outcomes = results.map((text) => JSON.parse(text));
  expect(outcomes.filter(({ error }) => error !== undefined)).toEqual(Array(3).fill(exhausted));
  expect(outcomes.filter(({ result }) => result !== undefined)).toHaveLength(2);
  expect(store.rows.size).toBe(2);
});

test('a subscription that has ended counts as a new one', async () => {
  const store: Store = {
    ...emptyStore(),
    follow: async (_, subscriptions) => ({ epoch: 'e', head: 0, total: subscriptions + 1 }),
  };
  const url = 'http://127.0.0.1:9/hook';
  const options = { allowedOrigins: [new URL(url).origin], maxSubscriptions: 2 };
  const delivery = deploy(store, { noted: {} }, options);
  const hook = webhookOf({ url });
  expect(JSON.parse(await delivery.subscribe(hook))).toHaveProperty('result');
  expect(JSON.parse(await delivery.subscribe(hook))).toHaveProperty('result');
  const now = Date.now();
  await delivery.disconnect({ principal: 'ada', publishedAt: now, at: now });
  expect(store.rows.size).toBe(1);
  const others = { ...hook, principal: 'eve' };
  expect(JSON.parse(await delivery.subscribe(others))).toHaveProperty('result');
  const again = await delivery.subscribe({ ...hook, askedAt: now + 1 });
  expect(JSON.parse(again)).toMatchObject({ error: { resourceExhausted: { max: 2 } } });
});

describe('requests that are refused before anything is sent', () => {
  test.each([
    ['a private address', 'https://10.0.0.1/hook'],
    ['the address of cloud metadata', 'https://169.254.169.254/hook'],
    ['a mapped address', 'https://[::ffff:10.0.0.1]/hook'],
    ['another spelling of an address', 'https://0x7f.1/hook'],
    ['a name of a private network', 'https://printer.local/hook'],
    ['no encryption', 'http://hooks.example.com/hook'],
    ['credentials', 'https://me:secret@hooks.example.com/hook'],
    ['a fragment', 'https://hooks.example.com/hook#part'],
    ['no url at all', 'hook'],
  ])('%s', async (_, url) => {
    const { subscribe } = serving({ allowInsecureLocalhost: false });
    expect(await subscribe(url)).toMatchObject({ error: { code: -32_602 } });
  });

  test('localhost, unless it is allowed', async () => {
    const { subscribe } = serving({ allowInsecureLocalhost: false });
    const hook = await endpoint(HOOK_SECRET);
    expect(await subscribe(hook.url)).toMatchObject({ error: { code: -32_602 } });
    expect(hook.received).toEqual([]);
  });

  test('a secret that is too short', async () => {
    const { subscribe } = serving();
    const delivery = { url: 'http://127.0.0.1:1/', secret: 'whsec_c2hvcnQ=' };
    expect(await subscribe('', { delivery })).toMatchObject({ error: { code: -32_602 } });
  });
});
