import { createListenHandler, InMemoryBus, isOpenStream } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { EventReader } from '../../host/events.ts';
import { elapsed, pass } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { discovering, requestOf } from './requests.ts';

// Steps of the virtual clock take a while on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

/** Where exceptions of `onError` go. */
let report: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  report = vi.spyOn(console, 'error').mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function broken(): never {
  throw new Error('broken');
}

describe('a stream whose caller cannot be authorized again ends', () => {
  test.each([
    ['because a group is not valid', (): string[] => [''], undefined],
    ['because `principal` throws', broken, undefined],
    ['because `authorize` throws', (): string[] => [], broken],
  ])('%s, even if `onError` throws', async (_, groupsAgain, authorizeAgain) => {
    const server = createListenHandler(discovering, {
      bus: new InMemoryBus({ events: eventLog() }),
      events: defineEvents(
        { 'order.paid': {} },
        { authorize: ({ isOpen }) => isOpen === undefined || (authorizeAgain?.() ?? true) },
      ),
      principal: (request) => ({ name: 'ann', groups: isOpenStream(request) ? groupsAgain() : [] }),
      authorizationTtlMs: 1,
      onError: broken,
    });
    const request = requestOf('events/stream', { name: 'order.paid' }, 1);
    const reader = new EventReader(await server.fetch(request));
    await reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await server.notify.event('order.paid', { number: 1 });
    expect(await reader.next()).toMatchObject({ method: 'notifications/events/terminated' });
    expect(report).toHaveBeenCalled();
  });
});

test('a webhook receives events after an exception of `authorize`, and one of `onError`', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const authorize = vi.fn(() => true).mockImplementationOnce(broken);
  const events = defineEvents(
    { 'order.paid': {} },
    {
      webhooks: {
        allowInsecureLocalhost: true,
        authorizationTtlMs: 60_000,
        authorize,
        onError: broken,
      },
    },
  );
  const bus = new InMemoryBus({ events: eventLog({ webhooks: events }) });
  const server = createListenHandler(discovering, { bus, events, principal: () => 'ann' });
  const hook = await endpoint(HOOK_SECRET);
  const delivery = { mode: 'webhook', url: hook.url, secret: HOOK_SECRET };
  const params = { name: 'order.paid', delivery };
  await server.fetch(callRequest('http://127.0.0.1/mcp', 'events/subscribe', params));
  await pass(61_000);
  await server.notify.event('order.paid', {});
  await elapsed(() => hook.events.length === 1);
  expect([authorize.mock.calls.length, report.mock.calls.length]).toEqual([2, 1]);
});
