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
  let wakes = 0;
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
  const bus: Pick<WatchedBus, 'wanted' | 'publishAll' | 'wakeBy'> = {
    wanted: {},
    publishAll: async () => 0,
    wakeBy: async () => {
      wakes += 1;
    },
  };

  const watcher = watchUpstream(upstream)('bus', bus as unknown as WatchedBus);
  const want = (...uris: string[]): void => {
    wantAll({ resourceSubscriptions: uris });
  };
  const wantAll = (filter: SubscriptionFilter): void => {
    Object.assign(bus, { wanted: filter });
    watcher?.wantedChanged();
  };
  const alarm = () => watcher?.alarm();
  return { alarm, errors, requested, server, wakes: () => wakes, want, wantAll };
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

test('of more URIs than the server accepts, as many as it accepts are watched within seconds', async () => {
  virtualTime();
  const { alarm, requested, server, want } = watching(0);
  const counts = () => requested.map((filter) => filter.resourceSubscriptions?.length);
  want(...uris(257));
  const narrowed = [257, 128, 192, 224, 240, 248, 252, 254, 255, 256, 257];
  await elapsed(() => counts().length === narrowed.length, 100);
  await pass(10_000);
  await settle();
  expect(counts()).toEqual(narrowed);
  expect(server.stats().open).toBe(1);
  // The name that was refused alone is requested again after five minutes.
  for (let minute = 1; minute <= 6; minute += 1) {
    await pass(60_000);
    await alarm();
    await pass(1_000);
    await settle();
  }
  expect(counts()).toEqual([...narrowed, 257]);
  want();
  await elapsed(() => server.stats().open === 0);
});

/** The URIs of the filter that was requested last and has as many as the server accepts. */
function lastAccepted(requested: readonly SubscriptionFilter[]): string[] {
  const sizes = (filter: SubscriptionFilter) => filter.resourceSubscriptions?.length ?? 0;
  return requested.filter((filter) => sizes(filter) <= 256).at(-1)?.resourceSubscriptions ?? [];
}

test('names that are watched stay, whatever other names are wanted, also those that sort first', async () => {
  virtualTime();
  const { alarm, requested, server, want } = watching(0);
  const honest = uris(200);
  want(...honest);
  await elapsed(() => server.stats().open === 1, 100);
  const junk = Array.from({ length: 600 }, (_, number) => `!${number}`);
  want(...honest, ...junk);
  for (let minute = 0; minute < 3; minute += 1) {
    for (let step = 0; step < 60; step += 1) {
      await pass(1_000);
      await settle();
    }
    await alarm();
  }
  const watched = lastAccepted(requested);
  expect(watched).toHaveLength(256);
  expect(watched).toEqual(expect.arrayContaining(honest));
  // The server is asked a few times a minute.
  expect(requested.length).toBeLessThan(60);
}, 60_000);

test('a name that the server refuses is left out, and other names and lists are watched', async () => {
  virtualTime();
  const { alarm, requested, server, wantAll } = watching(0);
  const refused = `!${'a'.repeat(3_000)}`;
  const wanting = (...more: string[]) =>
    wantAll({ toolsListChanged: true, resourceSubscriptions: [...more, refused] });
  const isWatched = (...names: string[]) =>
    lastAccepted(requested).join() === names.join() &&
    requested.at(-1)?.toolsListChanged === true &&
    server.stats().open === 1;
  wanting();
  await elapsed(() => requested.length > 1 && isWatched());
  wanting('note://a', 'note://b');
  await elapsed(() => isWatched('note://a', 'note://b'));
  const asked = requested.length;
  wanting('note://a', 'note://b', 'note://c');
  await elapsed(() => isWatched('note://a', 'note://b', 'note://c'));
  for (let minute = 0; minute < 3; minute += 1) {
    await pass(60_000);
    await alarm();
    await pass(1_000);
    await settle();
  }
  const later = requested.slice(asked).flatMap((filter) => filter.resourceSubscriptions ?? []);
  expect(later).not.toContain(refused);
});

test('a watch whose only name is refused wakes its object, and requests it again', async () => {
  virtualTime();
  const { alarm, requested, want, wakes } = watching(0);
  want(`!${'a'.repeat(3_000)}`);
  await elapsed(() => requested.length === 1, 100);
  for (let minute = 0; minute < 7; minute += 1) {
    const woken = wakes();
    await pass(60_000);
    await settle();
    await alarm();
    expect(wakes()).toBeGreaterThan(woken);
  }
  expect(requested.length).toBeGreaterThan(1);
});

test('many names that the server refuses keep no other name from being watched', async () => {
  virtualTime();
  const { alarm, requested, server, want } = watching(0);
  want('note://a');
  await elapsed(() => server.stats().open === 1, 100);
  const refused = Array.from({ length: 40 }, (_, number) => `!${'a'.repeat(3_000)}${number}`);
  want('note://a', 'note://b', ...refused);
  const isWatched = () =>
    requested.some(({ resourceSubscriptions: names = [] }) => {
      return names.join() === 'note://a,note://b';
    });
  for (let minute = 0; minute < 12 && !isWatched(); minute += 1) {
    for (let step = 0; step < 15; step += 1) {
      await pass(1_000);
      await settle();
    }
    await pass(45_000);
    await alarm();
  }
  expect(isWatched()).toBe(true);
  expect(server.stats().open).toBe(1);
}, 60_000);
