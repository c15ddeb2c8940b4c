import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endpoint } from '../../host/endpoint.ts';
import { pass, settle, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { deploy, emptyStore, eventAt, pageOf, type Store, webhookOf } from './deployments.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const TYPES = { noted: {} };

function hanging(): Promise<never> {
  return new Promise(() => {});
}

test('a page that the bus does not return is read again after five seconds', async () => {
  const hook = await endpoint(HOOK_SECRET);
  let hangs = false;
  const store: Store = {
    ...emptyStore(),
    page: async () => (hangs ? hanging() : pageOf(store.events)),
  };
  const errors: Error[] = [];
  const delivery = deploy(store, TYPES, { onError: (error) => void errors.push(error) });
  await delivery.subscribe(webhookOf(hook));
  await pass(1_001);
  hangs = true;
  store.events.push(eventAt(1));
  await delivery.wake(['noted'], 'e', 1);
  hangs = false;
  await pass(4_999);
  expect([errors, hook.events]).toEqual([[], []]);
  await pass(1);
  expect(errors).toMatchObject([{ code: 'bus-unavailable' }]);
  await delivery.wake(['noted'], 'e', 1);
  await until(() => hook.events.length === 1);
});

test('a report that the bus does not respond to holds up no later subscription', async () => {
  const hook = await endpoint(HOOK_SECRET);
  let hangs = true;
  const store: Store = {
    ...emptyStore(),
    follow: async (_, total) => (hangs ? hanging() : { epoch: 'e', head: 0, total }),
  };
  const delivery = deploy(store, TYPES, { onError: () => {} });
  const refused = delivery.subscribe(webhookOf(hook));
  await settle();
  hangs = false;
  const subscribed = delivery.subscribe(webhookOf(hook));
  await settle();
  await pass(5_000);
  expect(JSON.parse(await refused)).toHaveProperty('error');
  expect(JSON.parse(await subscribed)).toHaveProperty('result.id');
});

test('a bus that does not respond delays each of several subscriptions by ten seconds at most', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const follow = vi.fn(hanging);
  const delivery = deploy({ ...emptyStore(), follow }, TYPES, { onError: () => {} });
  let responses = 0;
  for (let count = 0; count < 5; count += 1) {
    const webhook = { ...webhookOf(hook), arguments: `{"n":${count}}` };
    void delivery.subscribe(webhook).then(() => {
      responses += 1;
    });
  }
  await settle();
  for (let seconds = 0; seconds < 10; seconds += 5) {
    await pass(5_000);
    await settle();
  }
  expect(responses).toBe(5);
  expect(follow.mock.calls.length).toBeLessThanOrEqual(2);
});

test('a report that fails at once is repeated after five seconds, whatever is delivered meanwhile', async () => {
  const hook = await endpoint(HOOK_SECRET);
  let [isAway, reports] = [false, 0];
  const store: Store = {
    ...emptyStore(),
    follow: async (_, total) => {
      reports += 1;
      if (isAway) throw new Error('the bus is unavailable');
      return { epoch: 'e', head: 0, total };
    },
  };
  const delivery = deploy(store, TYPES);
  const second = { ...webhookOf(hook), arguments: '{"n":1}' };
  for (const webhook of [webhookOf(hook), second]) await delivery.subscribe(webhook);
  await settle();
  [isAway, reports] = [true, 0];
  await delivery.unsubscribe(second);
  await settle();
  for (let count = 0; count < 20; count += 1) await delivery.wake(['noted'], 'e', 0);
  await settle();
  expect(reports).toBe(1);
  isAway = false;
  await pass(5_000);
  await delivery.alarm();
  expect(reports).toBe(2);
});

test('a report that failed and is not needed any more leaves no alarm in the past', async () => {
  const hook = await endpoint(HOOK_SECRET);
  let alarm: number | undefined;
  const store: Store = {
    ...emptyStore(),
    setAlarm: (at) => {
      alarm = at;
    },
    follow: async (_, total) => {
      if (total === 2) throw new Error('the bus is unavailable');
      return { epoch: 'e', head: 0, total };
    },
  };
  const delivery = deploy(store, TYPES);
  const second = { ...webhookOf(hook), arguments: '{"n":1}' };
  for (const webhook of [webhookOf(hook), second]) await delivery.subscribe(webhook);
  await settle();
  await delivery.unsubscribe(second);
  await settle();
  expect(alarm).toBe(Date.now() + 5_000);
  await pass(5_000);
  await delivery.alarm();
  expect(alarm).toBeGreaterThan(Date.now());
});
