import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler } from 'mcp-listen';
import 'mcp-listen/client'; // loads the core of the client
import { expect, test } from 'vitest';
import { watchUpstream } from '../../../dist/cloudflare/gateway/upstream/watch.js';
import type { WatchedBus } from '../../../dist/cloudflare/object/bus/watcher.js';
import { notebook } from '../sdk/notebook.ts';

test('an upstream server is not asked for the event types that the gateway itself serves', async () => {
  const handler = createMcpHandler(() => notebook());
  const server = createListenHandler((request) => handler.fetch(request));
  const requested: unknown[] = [];
  const upstream = {
    url: 'https://upstream.example/mcp',
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      const { method, params } = await request.clone().json();
      if (method === 'subscriptions/listen') requested.push(params.notifications);
      return server.fetch(request);
    },
  };
  const bus = {
    wanted: { resourceSubscriptions: ['note://a', 'mcp-event:order.paid'] },
    publishAll: async () => {},
    wakeBy: async () => {},
  };
  const watcher = watchUpstream(upstream)('bus', bus as unknown as WatchedBus);
  watcher?.wantedChanged();
  await expect.poll(() => requested).toEqual([{ resourceSubscriptions: ['note://a'] }]);
  bus.wanted = { resourceSubscriptions: ['mcp-event:order.paid'] };
  watcher?.wantedChanged();
  await expect.poll(() => server.stats().open).toBe(0);
  expect(requested).toHaveLength(1);
});
