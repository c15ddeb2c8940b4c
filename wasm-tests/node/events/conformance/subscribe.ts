import { expect } from 'vitest';
import { type Endpoint, endpoint } from '../../../host/endpoint.ts';
import { elapsed, pass, settle, until } from '../../../host/virtual-clock.ts';
import { HOOK_SECRET, NEXT_SECRET } from '../../../host/webhook.ts';
import type { Checks } from './check.ts';
import { idsOf, type Reply, type ServingOptions, serving } from './serving.ts';

/** Subscriptions of webhooks: how they are made, renewed and ended. */
export const SUBSCRIBE: Checks = {
  'sep-9999-subscribe-webhook-only': async () => {
    const { poll, stream, subscribe } = serving();
    expect((await poll()).cursor).toBeTypeOf('string');
    await (await stream()).next();
    const delivery = { mode: 'push', url: 'http://127.0.0.1:1/hook', secret: HOOK_SECRET };
    expect((await subscribe('', { delivery })).error?.code).toBe(-32_014);
  },

  'sep-9999-subscribe-secret-required': async () => {
    const { hook, subscribe } = await hooked();
    const { error } = await subscribe('', { delivery: { mode: 'webhook', url: hook.url } });
    expect([error?.code, hook.received]).toEqual([-32_602, []]);
  },

  'sep-9999-subscribe-secret-format': async () => {
    const { subscribe } = serving();
    for (const size of [24, 64]) {
      const secret = secretOf(size);
      const hook = await endpoint(secret);
      const { result } = await subscribe('', { delivery: { url: hook.url, secret } });
      expect([result?.['id'], hook.received[0]?.signers]).toEqual([expect.any(String), [secret]]);
    }
  },

  'sep-9999-subscribe-secret-rejected': async () => {
    const { hook, subscribe } = await hooked();
    const wrong = [secretOf(23), secretOf(65), 'whsec_', 'whsec_%%%', secretOf(32).slice(6), 7];
    for (const secret of wrong) {
      const { error } = await subscribe('', { delivery: { url: hook.url, secret } });
      expect(error?.code).toBe(-32_602);
    }
    expect(hook.received).toEqual([]);
  },

  'sep-9999-subscribe-url-https-required': async () => {
    const { subscribe } = serving({ webhooks: { allowedOrigins: ['https://hooks.example.com'] } });
    const { result } = await subscribe('https://hooks.example.com/hook');
    expect(result).toHaveProperty('id');
  },

  'sep-9999-subscribe-url-non-https-rejected': async () => {
    const { subscribe } = serving();
    for (const url of ['http://hooks.example.com/hook', 'ftp://hooks.example.com/', 'hook'])
      expect((await subscribe(url)).error?.code).toBe(-32_602);
  },

  'sep-9999-subscribe-auth-required': async () => {
    const { call, hook, subscribe } = await hooked();
    expect((await subscribe(hook.url, {}, null)).error?.code).toBe(-32_012);
    const params = { name: 'noted', delivery: { url: hook.url } };
    expect((await call('events/unsubscribe', params, null)).error?.code).toBe(-32_012);
    expect(hook.received).toEqual([]);
  },

  'sep-9999-subscribe-key-composition': async () => {
    const { hook, subscribe } = await hooked();
    const id = async (...subscription: Parameters<typeof subscribe>) =>
      (await subscribe(...subscription)).result?.['id'];
    const args = { b: [1, 2], topic: 'x', a: { d: 1, c: 2 } };
    const same = { a: { c: 2, d: 1.0 }, topic: 'x', b: [1, 2] };
    const first = await id(hook.url, { arguments: args });
    expect(await id(hook.url, { arguments: same })).toBe(first);
    expect(first).toMatch(/./);
    const others = [
      await id(hook.url, { arguments: args }, 'bob'),
      await id(`${hook.url}?other`, { arguments: args }),
      await id(hook.url, { arguments: args, name: 'judged' }),
      await id(hook.url, { arguments: { ...args, b: [2, 1] } }),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  },

  'sep-9999-subscribe-key-immutable': async () => {
    const { hook, publish, subscribe } = await hooked();
    for (const topic of ['one', 'two']) await subscribe(hook.url, { arguments: { topic } });
    await publish('one', 'two');
    await elapsed(() => hook.events.length === 2);
    const ids = hook.events.map(({ headers }) => headers['x-mcp-subscription-id']);
    expect(new Set(ids).size).toBe(2);
  },

  'sep-9999-subscribe-idempotent-upsert': async () => {
    const { hook, publish, subscribe } = await hooked();
    const first = await subscribe(hook.url);
    await pass(60_000);
    const second = await subscribe(hook.url);
    expect(second.result?.['id']).toBe(first.result?.['id']);
    expect(until1970(second) - until1970(first)).toBe(60_000);
    await publish('one');
    await elapsed(() => hook.events.length > 0);
    await settle();
    expect(hook.events).toHaveLength(1);
  },

  'sep-9999-subscribe-id-derived': async () => {
    const hook = await endpoint(HOOK_SECRET);
    const ids = [];
    // Each time another server with another bus.
    for (const _ of [1, 2]) ids.push((await serving().subscribe(hook.url)).result?.['id']);
    expect(ids[0]).toMatch(/^sub_[0-9a-f]{32}$/);
    expect(ids[1]).toBe(ids[0]);
  },

  'sep-9999-subscribe-id-not-an-input': async () => {
    const { call, hook, publish, subscribe } = await hooked();
    const { result } = await subscribe(hook.url);
    const params = { id: result?.['id'], name: 'noted', delivery: { url: hook.url } };
    await call('events/unsubscribe', params, 'bob');
    expect((await call('events/unsubscribe', { id: result?.['id'] })).error?.code).toBe(-32_602);
    await publish('one');
    await elapsed(() => hook.events.length === 1);
    expect(hook.events[0]?.body['eventId']).toBe('one');
  },

  'sep-9999-subscribe-refresh-replaces-secret': async () => {
    const { hook, publish, subscribe } = await hooked();
    await subscribe(hook.url);
    await subscribe(hook.url, { delivery: { url: hook.url, secret: NEXT_SECRET } });
    await pass(900_001);
    await publish('one');
    await until(() => hook.events.length === 1);
    expect(hook.events[0]?.signers).toEqual([NEXT_SECRET]);
  },

  'sep-9999-subscribe-refresh-reactivates': async () => {
    const { hook, publish, subscribe } = await hooked();
    await subscribe(hook.url);
    await pass(1_100);
    hook.reply = () => 500;
    await publish('one', 'two', 'three', 'four', 'five', 'six');
    await elapsed(() => hook.events.length >= 6);
    hook.reply = () => undefined;
    const failed = hook.events.length;
    const { result } = await subscribe(hook.url);
    expect(result).toMatchObject({ deliveryStatus: { active: true, throttled: true } });
    // The renewal has an event tried again at once, and its success all others.
    const began = Date.now();
    const ids = () => new Set(idsOf(hook.events.slice(failed).map(({ body }) => body)));
    await elapsed(() => ids().size === 6);
    expect(Date.now() - began).toBeLessThanOrEqual(10_000);
  },

  'sep-9999-subscribe-response-cursor': async () => {
    const { hook, poll, publish, subscribe } = await hooked();
    const first = await subscribe(hook.url);
    expect(first.result?.['cursor']).toBe((await poll()).cursor);
    await publish('one');
    await elapsed(() => hook.events.length === 1);
    await settle();
    const second = await subscribe(hook.url);
    expect(second.result?.['cursor']).toBe((await poll()).cursor);
    expect(second.result?.['cursor']).not.toBe(first.result?.['cursor']);
  },

  'sep-9999-subscribe-response-truncated': async () => {
    const { hook, poll, publish, subscribe } = await hooked();
    const { cursor } = await poll();
    await publish('old');
    await pass(60_000);
    expect((await subscribe(hook.url, { cursor })).result?.['truncated']).toBe(false);
    const other = await subscribe(`${hook.url}?other`, { cursor, maxAgeMs: 1_000 });
    expect(other.result?.['truncated']).toBe(true);
  },

  'sep-9999-subscribe-cross-tenant-isolation': async () => {
    const { handler, hook, publish, subscribe, unsubscribe } = await hooked();
    const other = await endpoint(HOOK_SECRET);
    const one = await subscribe(hook.url, {}, 'ada');
    const two = await subscribe(other.url, {}, 'bob');
    expect(one.result?.['id']).not.toBe(two.result?.['id']);
    await unsubscribe(hook.url, {}, 'bob');
    await handler.disconnect('bob');
    await until(() => other.received.length === 2);
    await settle();
    await publish('one');
    await elapsed(() => hook.events.length === 1);
    await settle();
    expect(other.events).toEqual([]);
  },

  'sep-9999-ttl-refresh-before-lte-suggestion': async () => {
    const { hook, subscribe } = await hooked();
    for (const ttlMs of [400_000, 1e15])
      expect(ttlOf(await subscribe(hook.url, { ttlMs }))).toBeLessThanOrEqual(ttlMs);
  },

  'sep-9999-ttl-no-rejection-path': async () => {
    const { hook, subscribe } = await hooked();
    const granted: number[] = [];
    for (const ttlMs of [-1, 0, 0.5, 1, 1e15, null])
      granted.push(ttlOf(await subscribe(hook.url, { ttlMs })));
    expect(granted).toEqual([...Array(4).fill(300_000), 3_600_000, 3_600_000]);
  },

  'sep-9999-ttl-null-only-when-requested': async () => {
    const { hook, subscribe } = await hooked({ webhooks: { noExpiry: true } });
    for (const params of [{}, { ttlMs: 1 }, { ttlMs: 1e300 }])
      expect((await subscribe(hook.url, params)).result?.['refreshBefore']).toBeTypeOf('string');
  },

  'sep-9999-ttl-omitted-means-default': async () => {
    const { hook, subscribe } = await hooked({ webhooks: { defaultTtlMs: 1_200_000 } });
    expect(ttlOf(await subscribe(hook.url))).toBe(1_200_000);
    expect(ttlOf(await subscribe(hook.url, { ttlMs: null }))).toBe(3_600_000);
  },

  'sep-9999-unsubscribe-by-key': async () => {
    const { hook, publish, subscribe, unsubscribe } = await hooked();
    for (const topic of ['one', 'two']) await subscribe(hook.url, { arguments: { topic } });
    expect((await unsubscribe(hook.url, { arguments: { topic: 'one' } })).error).toBeUndefined();
    await publish('one', 'two');
    await elapsed(() => hook.events.length > 0);
    await settle();
    expect(idsOf(hook.events.map(({ body }) => body))).toEqual(['two']);
  },

  'sep-9999-authz-subscribe-time': async () => {
    const authorize = ({ arguments: args, mode, principal }: Asked) =>
      mode === undefined || (principal === 'ada' && args['topic'] === 'hers');
    const { call, hook, subscribe } = await hooked({ events: { authorize } as never });
    const codes = [];
    for (const [topic, caller] of [
      ['hers', 'ada'],
      ['his', 'ada'],
      ['hers', 'bob'],
    ] as const) {
      const params = { name: 'noted', arguments: { topic } };
      codes.push((await call('events/poll', params, caller)).error?.code);
      codes.push((await subscribe(hook.url, params, caller)).error?.code);
    }
    const refused = Array(4).fill(-32_012);
    expect(codes).toEqual([undefined, undefined, ...refused]);
  },

  'sep-9999-authz-delivery-time-reverify': async () => {
    let mayRead = true;
    const authorize = () => mayRead;
    const { hook, publish, subscribe } = await hooked({
      webhooks: { authorize, authorizationTtlMs: 60_000 },
    });
    await subscribe(hook.url);
    mayRead = false;
    await pass(60_001);
    await elapsed(() => hook.received.some(({ body }) => body['type'] === 'terminated'));
    await publish('one');
    await settle();
    expect(hook.events).toEqual([]);
  },
};

interface Asked {
  arguments: Record<string, unknown>;
  mode: string | undefined;
  principal: string | undefined;
}

/** A server, and an endpoint that knows both secrets. */
async function hooked(
  options: ServingOptions = {},
): Promise<ReturnType<typeof serving> & { hook: Endpoint }> {
  return { ...serving(options), hook: await endpoint(HOOK_SECRET, NEXT_SECRET) };
}

function secretOf(bytes: number): string {
  return `whsec_${Buffer.alloc(bytes, 3).toString('base64')}`;
}

/** Until when a subscription lasts, in milliseconds since 1970. */
function until1970({ result }: Reply): number {
  return Date.parse(result?.['refreshBefore'] as string);
}

function ttlOf(reply: Reply): number {
  return until1970(reply) - Date.now();
}
