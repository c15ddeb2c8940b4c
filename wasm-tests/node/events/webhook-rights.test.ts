import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Disconnect } from '../../../dist/bus/events.js';
import { type DeliverMaker, MemoryWebhooks } from '../../../dist/bus/memory/webhooks.js';
import { endpoint } from '../../host/endpoint.ts';
import { poisonEvents } from '../../host/poison.ts';
import { elapsed, pass, settle, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { received, serving } from './webhook-server.ts';

// Steps of the virtual clock take a while on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('a subscription receives what is for the groups that authorize returns', async () => {
  const results = [{ groups: ['acme'] }, { groups: [''] }, { groups: [] }];
  const asked: (readonly string[])[] = [];
  const { errors, server, subscribe } = serving({
    authorizationTtlMs: 60_000,
    authorize: ({ groups }) => {
      asked.push(groups);
      return results.shift() ?? true;
    },
  });
  const publish = (id: string) => server.notify.event('order.paid', {}, { id, group: 'acme' });
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url);
  await pass(30_000);
  await publish('before');
  await pass(30_001);
  await elapsed(() => asked.length === 1);
  await settle();
  await publish('member');
  await received(hook, 1);
  await pass(60_001);
  await elapsed(() => errors.length === 1);
  expect(errors).toMatchObject([{ code: 'authorizer-failed' }]);
  await pass(60_001);
  await elapsed(() => asked.length === 3);
  await settle();
  await publish('after');
  await pass(2_000);
  await settle();
  expect(hook.events.map(({ body }) => body['eventId'])).toEqual(['member']);
  expect(asked).toEqual([[], ['acme'], ['acme']]);
});

test('a match or an authorize that takes ten seconds has failed, and deliveries go on', async () => {
  const { errors, server, subscribe } = serving({
    authorizationTtlMs: 60_000,
    authorize: () => new Promise(() => {}),
  });
  const hook = await endpoint(HOOK_SECRET);
  const began = Date.now();
  await subscribe(hook.url, { name: 'looked' });
  await server.notify.event('looked', { isStuck: true }, { id: 'stuck' });
  await server.notify.event('looked', {}, { id: 'next' });
  await elapsed(() => hook.events.length === 1);
  expect(hook.events.map(({ body }) => body['eventId'])).toEqual(['next']);
  await elapsed(() => errors.length === 2);
  expect(errors).toMatchObject([
    { message: 'match took too long' },
    { code: 'authorizer-timeout' },
  ]);
  expect(Date.now() - began).toBeLessThan(80_000);
});

test('an authorize that returns a group that is not valid is reported, and asked again', async () => {
  const results = [{ groups: ['x'.repeat(100_000)] }];
  const { errors, publish, subscribe } = serving({
    authorizationTtlMs: 60_000,
    authorize: () => results.shift() ?? true,
  });
  const hook = await endpoint(HOOK_SECRET);
  await subscribe(hook.url);
  await pass(60_001);
  await elapsed(() => errors.length === 1);
  expect(errors).toMatchObject([{ code: 'authorizer-failed' }]);
  await publish({}, 'later');
  await elapsed(() => hook.events.length === 1);
});

test('a webhook receives events after the core has failed when the alarm went off', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const { publish, subscribe } = serving();
  const hook = await endpoint(HOOK_SECRET);
  hook.reply = ({ body }) => ('eventId' in body && hook.events.length === 1 ? 500 : undefined);
  await subscribe(hook.url);
  await pass(1_100);
  await publish({}, 'one');
  await received(hook, 1);
  await settle();
  poisonEvents();
  await pass(60_000);
  await publish({}, 'two');
  const times = (id: string) => hook.events.filter(({ body }) => body['eventId'] === id).length;
  await elapsed(() => times('one') > 1 && times('two') > 0);
  expect(unhandled).not.toHaveBeenCalled();
});

test('a request from before its caller was disconnected subscribes nothing', async () => {
  const permits: ((isPermitted: boolean) => void)[] = [];
  const authorize = () => new Promise<boolean>((resolve) => permits.push(resolve));
  const { server, subscribe } = serving({}, authorize);
  const hook = await endpoint(HOOK_SECRET);
  const early = subscribe(hook.url);
  await until(() => permits.length === 1);
  await server.disconnect('ada');
  permits[0]?.(true);
  expect((await early).error).toMatchObject({ message: 'Forbidden' });
  await pass(1);
  const later = subscribe(hook.url);
  await until(() => permits.length === 2);
  permits[1]?.(true);
  expect((await later).error).toBeUndefined();
});

test('a disconnect is repeated if the delivery fails meanwhile', async () => {
  const disconnected: Disconnect[] = [];
  const deliver = ((host: Parameters<DeliverMaker>[0]) => ({
    disconnect: async (disconnect: Disconnect) => {
      disconnected.push(disconnect);
      if (disconnected.length > 1) return;
      host.reset();
      throw new Error('the core has failed');
    },
  })) as unknown as DeliverMaker;
  const end = () => ({ epoch: 'e', head: 0 });
  const webhooks = new MemoryWebhooks(deliver, { end, page: () => '' });
  const at = Date.now();
  webhooks.disconnect('ada');
  await pass(1);
  await settle();
  const disconnect = { principal: 'ada', publishedAt: at, at };
  expect(disconnected).toEqual([disconnect, disconnect]);
});
