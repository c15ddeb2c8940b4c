import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type DeliverMaker, MemoryWebhooks } from '../../../dist/bus/memory/webhooks.js';
import { disconnectsIn } from '../../../dist/cloudflare/wire/webhooks.js';
import { endpoint } from '../../host/endpoint.ts';
import { poisonEvents } from '../../host/poison.ts';
import { pass, settle, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET, NEXT_SECRET } from '../../host/webhook.ts';
import { deploy, emptyStore, eventAt, pageOf, type Store, webhookOf } from './deployments.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const TYPES = { noted: {} };
const FORBIDDEN = JSON.stringify({ error: { forbidden: {} } });
const FORMER_KEY = Buffer.alloc(32, 7).toString('base64');
const NEW_KEY = Buffer.alloc(32, 8).toString('base64');

/** A subscription whose secret was encrypted with a key that is no longer configured. */
async function sealed() {
  const hook = await endpoint(HOOK_SECRET, NEXT_SECRET);
  const store = emptyStore();
  const former = deploy(store, TYPES, { encryptionKey: FORMER_KEY });
  await former.subscribe(webhookOf(hook, 'endless'));
  await pass(2_000);
  const errors: Error[] = [];
  const onError = (error: Error): void => void errors.push(error);
  const delivery = deploy(store, TYPES, { encryptionKey: NEW_KEY, onError });
  const publish = (): Promise<void> => {
    store.events.push(eventAt(1));
    return delivery.wake(['noted'], 'e', 1);
  };
  return { delivery, errors, hook, publish, store };
}

/** The webhooks of a process. `restart` resets their delivery, whose next starts call `fail`. */
function memoryWebhooks(fail: () => void) {
  const webhooks = { allowInsecureLocalhost: true, onError: () => {} };
  const log = eventLog({ webhooks: defineEvents(TYPES, { webhooks }) });
  const resets: (() => void)[] = [];
  let starts = 0;
  let failures = 0;
  const keepDefinitions = (): void => {
    starts += 1;
    if (failures === 0) return;
    failures -= 1;
    fail();
  };
  const deliver: DeliverMaker = (host) => {
    resets.push(host.reset);
    return (log.deliver as DeliverMaker)({ ...host, keepDefinitions });
  };
  const end = () => ({ epoch: 'e', head: 0 });
  const restart = (times = 1): void => {
    failures = times;
    resets.at(-1)?.();
  };
  const of = new MemoryWebhooks(deliver, { end, page: () => pageOf([]) });
  return { restart, starts: () => starts, webhooks: of };
}

const UNREADABLE = expect.objectContaining({ code: 'secret-unreadable' });

describe('a secret that no key opens', () => {
  test('is reported, and its messages wait until a key opens it', async () => {
    const { delivery, errors, hook, publish, store } = await sealed();
    await publish();
    // Its outcome has to arrive before time passes: otherwise it counts as a timeout.
    const tried = async (count: number): Promise<void> => {
      await until(() => errors.length === count);
      await settle();
    };
    await tried(1);
    for (let hours = 0; hours < 80; hours += 4) {
      const { length: count } = errors;
      await pass(4 * 3_600_000);
      await delivery.alarm();
      await tried(count + 1);
    }
    expect(errors.length).toBeGreaterThan(10);
    expect(new Set(errors.map((error) => (error as { code?: string }).code))).toEqual(
      new Set(['secret-unreadable']),
    );
    expect([delivery.stats.throttled, store.rows.size, hook.received.length]).toEqual([0, 1, 1]);
    const repaired = deploy(store, TYPES, { encryptionKey: [NEW_KEY, FORMER_KEY] });
    await pass(60_000);
    await repaired.alarm();
    await until(() => hook.events.length === 1);
    expect(hook.events[0]?.signers).toEqual([HOOK_SECRET]);
  });

  test('is no failure of the endpoint for its client', async () => {
    const { errors, hook, publish, store, delivery } = await sealed();
    await publish();
    await until(() => errors.length > 0);
    await settle();
    const renewed = await delivery.subscribe(webhookOf(hook, 'endless'));
    const status = { active: true, throttled: false, lastError: null };
    expect(JSON.parse(renewed).result.deliveryStatus).toEqual(status);
    expect(store.rows.size).toBe(1);
  });

  test('stops no messages once the client has sent another one', async () => {
    const { delivery, errors, hook, publish } = await sealed();
    await delivery.subscribe({ ...webhookOf(hook, 'endless'), secret: NEXT_SECRET });
    await pass(2_000);
    await publish();
    await until(() => hook.events.length === 1);
    expect([hook.events[0]?.signers, errors]).toEqual([[NEXT_SECRET], [UNREADABLE]]);
  });
});

describe('a disconnect', () => {
  const disconnect = (at: number) => ({ principal: 'ada', publishedAt: at, at });

  test('refuses requests from before for a minute, after a restart too', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const store = emptyStore();
    const askedAt = Date.now();
    await deploy(store, TYPES).disconnect(disconnect(askedAt));
    await pass(30_000);
    const restarted = deploy(store, TYPES);
    expect(await restarted.subscribe({ ...webhookOf(hook), askedAt })).toBe(FORBIDDEN);
    expect(hook.received).toEqual([]);
    const later = await restarted.subscribe({ ...webhookOf(hook), askedAt: askedAt + 1 });
    expect(JSON.parse(later)).toHaveProperty('result.id');
    await pass(30_000);
    const afterAMinute = await deploy(store, TYPES).subscribe({ ...webhookOf(hook), askedAt });
    expect(JSON.parse(afterAMinute)).toHaveProperty('result.id');
  });
});

describe.each([
  ['fails', fails],
  ['traps', poisonEvents],
])('a delivery in memory that %s when it begins again', (_, fail) => {
  test('is replaced at the next call', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const { restart, starts, webhooks } = memoryWebhooks(fail);
    webhooks.disconnect('ada');
    await settle();
    restart();
    await expect(webhooks.subscribe(webhookOf(hook))).rejects.toThrow();
    expect(await webhooks.subscribe(webhookOf(hook))).toBe(FORBIDDEN);
    const later = { ...webhookOf(hook), askedAt: Date.now() + 1 };
    const subscribed = await webhooks.subscribe(later);
    expect(JSON.parse(subscribed)).toHaveProperty('result.id');
    expect(starts()).toBe(3);
  });

  test('is replaced for the subscriptions that it has', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const { restart, starts, webhooks } = memoryWebhooks(fail);
    webhooks.disconnect('eve');
    await webhooks.subscribe(webhookOf(hook));
    restart();
    await pass(1_001);
    expect(starts()).toBe(3);
    const renewed = await webhooks.subscribe(webhookOf(hook));
    expect(JSON.parse(renewed)).toHaveProperty('result.id');
    expect(starts()).toBe(3);
  });

  test('is tried once a second while it fails', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const { restart, starts, webhooks } = memoryWebhooks(fail);
    webhooks.disconnect('eve');
    await webhooks.subscribe(webhookOf(hook));
    restart(100);
    await pass(1);
    const before = starts();
    for (let second = 0; second < 5; second += 1) await pass(1_000);
    expect(starts() - before).toBe(5);
  });

  test('is replaced for the next disconnect', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const { restart, starts, webhooks } = memoryWebhooks(fail);
    webhooks.disconnect('eve');
    await settle();
    restart();
    webhooks.disconnect('ada');
    await pass(1);
    expect(await webhooks.subscribe(webhookOf(hook))).toBe(FORBIDDEN);
    expect(starts()).toBe(3);
  });

  test('knows a disconnect for which it could not begin twice', async () => {
    const hook = await endpoint(HOOK_SECRET);
    const { restart, starts, webhooks } = memoryWebhooks(fail);
    webhooks.disconnect('eve');
    await settle();
    restart(2);
    webhooks.disconnect('ada');
    await pass(1);
    expect(starts()).toBe(3);
    expect(await webhooks.subscribe(webhookOf(hook))).toBe(FORBIDDEN);
    expect(starts()).toBe(4);
  });
});

test('a report to the bus that failed is not repeated after one that succeeded', async () => {
  const hook = await endpoint(HOOK_SECRET);
  let isAway = false;
  let alarm: number | undefined;
  const store: Store = {
    ...emptyStore(),
    setAlarm: (at) => {
      alarm = at;
    },
    follow: async (_, subscriptions) => {
      if (isAway) throw new Error('the bus is unavailable');
      return { epoch: 'e', head: 0, total: subscriptions };
    },
  };
  const delivery = deploy(store, TYPES);
  const subscribed = webhookOf(hook);
  for (const args of ['{}', '{"n":1}'])
    await delivery.subscribe({ ...subscribed, arguments: args });
  isAway = true;
  await delivery.unsubscribe(subscribed);
  await settle();
  isAway = false;
  expect(alarm).toBe(Date.now() + 5_000);
  const refused = await delivery.subscribe(webhookOf({ url: 'http://127.0.0.1:9/' }));
  expect(JSON.parse(refused)).toHaveProperty('error');
  await pass(5_001);
  await delivery.alarm();
  expect(alarm).toBeGreaterThan(Date.now());
});

describe('a call that reports disconnects', () => {
  const disconnect = { principal: 'ada', publishedAt: 1_000 };
  const call = { names: [], epoch: 'e', head: 0, disconnects: [disconnect] };

  test('says how long ago they were, whatever the clocks of bus and object say', () => {
    const given = { ...call, sentAt: 61_000 };
    expect(disconnectsIn(given, 500_000)).toEqual([{ ...disconnect, at: 440_000 }]);
  });

  test('from a bus whose clock went back is of now', () => {
    const given = { ...call, sentAt: 500 };
    expect(disconnectsIn(given, 500_000)).toEqual([{ ...disconnect, at: 500_000 }]);
  });
});

function fails(): never {
  throw new Error('it fails once');
}
