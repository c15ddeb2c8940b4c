import { expect } from 'vitest';
import { type Endpoint, endpoint } from '../../../host/endpoint.ts';
import { pass, settle, until } from '../../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../../host/webhook.ts';
import {
  deploy,
  emptyStore,
  eventAt,
  type Store,
  type Ttl,
  type Types,
  webhookOf,
} from '../deployments.ts';
import type { Checks } from './check.ts';

/** Subscriptions over deployments, beside a store that outlives them. */
export const DEPLOYMENTS: Checks = {
  'sep-9999-removal-terminates-subscriptions': async () => {
    const { body } = await endAfter({ other: {} });
    expect(body).toMatchObject({ type: 'terminated', error: { code: expect.any(Number) } });
  },

  'sep-9999-removal-error-not-found': async () => {
    const { body } = await endAfter({ other: {} });
    expect(body['error']).toMatchObject({ code: -32_011, data: { kind: 'event' } });
  },

  'sep-9999-removal-error-schema-changed': async () => {
    const { body } = await endAfter({ noted: schemas({ topic: { type: 'number' } }) });
    expect(body['error']).toMatchObject({
      code: -32_014,
      data: { feature: 'inputSchema', reason: 'schema_changed' },
    });
  },

  'sep-9999-removal-additive-no-terminate': async () => {
    const { hook, store } = await deployed();
    const types = { noted: schemas({ topic: { type: 'string' }, size: { type: 'number' } }) };
    const newer = deploy(store, types);
    await settle();
    expect([newer.stats.subscriptions, hook.received.length]).toEqual([1, 1]);
  },

  'sep-9999-ttl-long-grant-retained': async () => {
    const { hook, store } = await deployed({ for: 80_000_000 });
    await pass(79_000_000);
    await expectDelivery(store, hook);
  },

  'sep-9999-ttl-no-expiry-persisted': async () => {
    const { hook, reply, store } = await deployed('endless');
    expect(JSON.parse(reply)).toMatchObject({ result: { refreshBefore: null } });
    await pass(1_000_000_000);
    await expectDelivery(store, hook);
  },

  'sep-9999-verification-persisted-for-no-expiry': async () => {
    const { hook, store } = await deployed('endless');
    await pass(60_000);
    const restarted = deploy(store, TYPES);
    const other = { ...webhookOf(hook, 'endless'), arguments: '{"topic":"other"}' };
    expect(JSON.parse(await restarted.subscribe(other))).toHaveProperty('result.id');
    expect(hook.received).toHaveLength(1);
  },

  'sep-9999-ttl-no-expiry-gc-terminated': async () => {
    const { delivery, hook, store } = await deployed('endless');
    await pass(2_000);
    hook.reply = ({ body }) => ('eventId' in body ? 503 : undefined);
    store.events.push(eventAt(1));
    await delivery.wake(['noted'], 'e', 1);
    const began = Date.now();
    const isEnded = () => hook.received.some(({ body }) => body['type'] === 'terminated');
    for (let hours = 0; hours < 80 && !isEnded(); hours += 4) {
      await pass(4 * 3_600_000);
      await delivery.alarm();
      await settle();
      // A message that is still being sent would exceed its timeout when the clock advances.
      await until(() => delivery.stats.inFlight === 0);
    }
    expect(isEnded()).toBe(true);
    expect(Date.now() - began).toBeGreaterThanOrEqual(72 * 3_600_000);
    await until(() => store.rows.size === 0);
  },
};

/** Returns the last message to a subscription after a deployment with these types. */
async function endAfter(types: Types) {
  const { hook, store } = await deployed();
  deploy(store, types);
  await until(() => hook.received.length === 2);
  await until(() => store.rows.size === 0);
  return hook.received[1] as (typeof hook.received)[number];
}

/** Checks that another deployment delivers, and does not ask for consent again. */
async function expectDelivery(store: Store, hook: Endpoint): Promise<void> {
  const restarted = deploy(store, TYPES);
  store.events.push(eventAt(1));
  await restarted.wake(['noted'], 'e', 1);
  await until(() => hook.received.length === 2);
  expect(hook.events).toMatchObject([{ body: { eventId: 'one' } }]);
}

/** A first deployment with a subscription. */
async function deployed(ttl: Ttl = 'default') {
  const hook = await endpoint(HOOK_SECRET);
  const store = emptyStore();
  const delivery = deploy(store, TYPES);
  const reply = await delivery.subscribe(webhookOf(hook, ttl));
  return { delivery, hook, reply, store };
}

function schemas(properties: object) {
  return { inputSchema: { type: 'object', properties } };
}

const TYPES = { noted: schemas({ topic: { type: 'string' } }) };
