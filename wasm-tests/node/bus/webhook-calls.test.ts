import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AlarmScheduler } from '../../../dist/cloudflare/object/alarm.js';
import { RootWebhooks } from '../../../dist/cloudflare/object/bus/webhooks.js';
import { type WakeCall, webhookObjectOf } from '../../../dist/cloudflare/wire/webhooks.js';
import { pass, settle } from '../../host/virtual-clock.ts';
import { alarmStorage } from './alarm-storage.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

type Parts = ConstructorParameters<typeof RootWebhooks>;

/** The calls of a bus to its objects, which `wake` handles. */
function calling(wake: () => Promise<void>) {
  const calls: WakeCall[] = [];
  const stub = {
    wakeWebhooks: (text: string) => {
      calls.push(JSON.parse(text) as WakeCall);
      return wake();
    },
  };
  const storage = alarmStorage({ at: null });
  const log = { epoch: 'e', position: 0 } as Parts[1];
  const namespace = { getByName: () => stub } as unknown as Parts[4];
  const alarm = new AlarmScheduler(storage);
  const webhooks = new RootWebhooks(storage, log, alarm, 'bus', namespace);
  const disconnect = (): void => {
    webhooks.enqueue([], ['ada'], Date.now());
    webhooks.wakeSoon();
  };
  /** What the bus does at its alarm. */
  const settled = async (): Promise<boolean> => {
    alarm.fired();
    const isOpen = webhooks.settle();
    await settle();
    return isOpen;
  };
  return { calls, disconnect, settled, storage, webhooks };
}

test('a call that hangs is repeated after ten seconds', async () => {
  let hangs = true;
  const { calls, disconnect, settled } = calling(() => {
    return hangs ? new Promise(() => {}) : Promise.resolve();
  });
  disconnect();
  await pass(0);
  await settle();
  hangs = false;
  await pass(9_999);
  expect([await settled(), calls.length]).toEqual([true, 1]);
  await pass(1);
  await settled();
  expect(calls.map(({ disconnects }) => disconnects.length)).toEqual([1, 1]);
  expect(await settled()).toBe(false);
});

test('a call is stamped once what it reports is on disk', async () => {
  const { calls, disconnect, storage } = calling(async () => {});
  storage.sync = () => new Promise((resolve) => setTimeout(resolve, 300));
  const publishedAt = Date.now();
  disconnect();
  await pass(300);
  await settle();
  const disconnects = [{ principal: 'ada', publishedAt }];
  expect(calls).toMatchObject([{ disconnects, sentAt: publishedAt + 300 }]);
});

test('a call of an object sets an alarm that was lost', async () => {
  const { disconnect, storage, webhooks } = calling(() => Promise.reject(new Error('away')));
  disconnect();
  await pass(0);
  await settle();
  storage.at = null;
  await pass(60_000);
  const object = webhookObjectOf('ada');
  webhooks.follow({ object, call: 1, names: [], subscriptions: 0 });
  expect(storage.at).toBe(Date.now() + 1_000);
});
