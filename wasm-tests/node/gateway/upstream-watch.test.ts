import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, type SubscriptionFilter } from 'mcp-listen';
import 'mcp-listen/client'; // loads the core of the client
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchUpstream } from '../../../dist/cloudflare/gateway/upstream/watch.js';
import type { WatchedBus } from '../../../dist/cloudflare/object/bus/watcher.js';
import { pause } from '../../host/pause.ts';
import { elapsed, pass, settle } from '../../host/virtual-clock.ts';
import { notebook } from '../sdk/notebook.ts';

/** A bus without streams, and the server that it watches, which responds after `ms`. */
function watching(ms: number) {
  const handler = createMcpHandler(() => notebook({ resources: { subscribe: true } }));
  const server = createListenHandler((request) => handler.fetch(request));
  const requested: SubscriptionFilter[] = [];
  const upstream = {
    url: 'https://upstream.example/mcp',
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      const { method, params } = await request.clone().json();
      if (method === 'subscriptions/listen') requested.push(params.notifications);
      if (ms > 0) await pause(ms);
      return server.fetch(request);
    },
  };
  const bus = {
    wanted: { resourceSubscriptions: [] as string[] },
    publishAll: async () => {},
    wakeBy: async () => {},
  };
  const watcher = watchUpstream(upstream)('bus', bus as unknown as WatchedBus);
  const want = (...uris: string[]): void => {
    bus.wanted = { resourceSubscriptions: uris };
    watcher?.wantedChanged();
  };
  return { requested, server, want };
}

test('an upstream server is not asked for the event types that the gateway itself serves', async () => {
  const { requested, server, want } = watching(0);
  want('note://a', 'mcp-event:order.paid');
  await expect.poll(() => requested).toEqual([{ resourceSubscriptions: ['note://a'] }]);
  want('mcp-event:order.paid');
  await expect.poll(() => server.stats().open).toBe(0);
  expect(requested).toHaveLength(1);
});

test('a subscription opens even if more is wanted before it has opened, and then covers that', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { requested, server, want } = watching(500);
  const uris: string[] = [];
  for (let count = 0; count < 10; count += 1) {
    uris.push(`note://${count}`);
    want(...uris);
    await pass(300);
    await settle();
  }
  expect(server.stats().opened).toBeGreaterThan(0);
  await elapsed(() => requested.at(-1)?.resourceSubscriptions?.length === uris.length);
  want();
  await elapsed(() => server.stats().open === 0);
});
