import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  createListenHandler,
  type ListenHandlerOptions,
  type SubscriptionFilter,
} from 'mcp-listen';
import 'mcp-listen/client'; // loads the core of the client
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchUpstream } from '../../../dist/cloudflare/gateway/upstream/watch.js';
import type { WatchedBus } from '../../../dist/cloudflare/object/bus/watcher.js';
import { pause } from '../../host/pause.ts';
import { elapsed, pass, settle } from '../../host/virtual-clock.ts';
import { notebook } from '../sdk/notebook.ts';

const SUBSCRIBE = { resources: { subscribe: true } };

/** A server of the official SDK whose resources clients can subscribe to. */
function notes(options: Omit<ListenHandlerOptions, 'bus'> = {}, capabilities: object = SUBSCRIBE) {
  const handler = createMcpHandler(() => notebook(capabilities));
  return createListenHandler((request) => handler.fetch(request), options);
}

const LOST = 'the subscription to the upstream server was lost';
const deny = () => ({ denied: 401 as const });

/** A bus without streams, and the server that it watches, which responds after `ms`. */
function watching(ms: number, server = notes()) {
  const requested: SubscriptionFilter[] = [];
  const errors: Error[] = [];
  const upstream = {
    url: 'https://upstream.example/mcp',
    onError: (error: Error) => void errors.push(error),
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
  return { alarm: () => watcher?.alarm(), errors, requested, server, want };
}

function virtualTime(): void {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
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
  virtualTime();
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

test('a server that honors nothing of what is wanted is asked again after a minute, or for more', async () => {
  virtualTime();
  const { alarm, requested, want } = watching(0, notes({}, {}));
  want('note://a');
  await elapsed(() => requested.length > 0, 100);
  for (let turn = 0; turn < 10; turn += 1) {
    await pass(300);
    await settle();
    want('note://a');
  }
  expect(requested).toHaveLength(1);
  want('note://a', 'note://b');
  await elapsed(() => requested.length > 1, 100);
  await pass(60_000);
  await alarm();
  await elapsed(() => requested.length > 2, 100);
  await pass(1_000);
  await settle();
  expect(requested).toHaveLength(3);
});

test('a server that refuses the watch is asked again after a minute, whatever is wanted meanwhile', async () => {
  virtualTime();
  const { alarm, errors, requested, server, want } = watching(0, notes({ principal: deny }));
  want('note://a');
  await elapsed(() => requested.length > 0, 100);
  for (let turn = 0; turn < 10; turn += 1) {
    await pass(300);
    await settle();
    want('note://a', `note://${turn}`);
    if (turn === 5) await alarm();
  }
  expect(requested).toHaveLength(1);
  await pass(60_000);
  await alarm();
  await elapsed(() => errors.length > 1, 100);
  expect(requested).toHaveLength(2);
  expect(errors.map(({ message }) => message)).toEqual([LOST, LOST]);
  expect(server.stats().opened).toBe(0);
});

/** This many different URIs. */
function uris(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `note://${number}`);
}

test('one subscription watches more URIs, and longer ones, than one stream may name', async () => {
  const server = notes({ limits: { uris: 1_000, uriBytes: 5_000 } });
  const { requested, want } = watching(0, server);
  want(...uris(700), `note://${'a'.repeat(4_000)}`);
  await expect.poll(() => server.stats().open).toBe(1);
  expect(requested.map((filter) => filter.resourceSubscriptions?.length)).toEqual([701]);
  want();
  await expect.poll(() => server.stats().open).toBe(0);
});

test('of more URIs than the server accepts, a part is watched, and soon a larger one', async () => {
  virtualTime();
  const { alarm, errors, requested, server, want } = watching(0);
  const counts = () => requested.map((filter) => filter.resourceSubscriptions?.length);
  want(...uris(257));
  await elapsed(() => server.stats().open === 1, 100);
  expect(counts()).toEqual([257, 128]);
  for (const counted of [256, 257]) {
    await pass(60_000);
    await alarm();
    await elapsed(() => counts().at(-1) === counted, 100);
    await pass(10_000);
    await settle();
    expect(server.stats().open).toBe(1);
  }
  // The server has refused 257 twice, and the subscription to 256 is still open.
  expect(counts()).toEqual([257, 128, 256, 257]);
  expect(errors.map(({ message }) => message)).toEqual([LOST, LOST]);
  want();
  await elapsed(() => server.stats().open === 0);
});
