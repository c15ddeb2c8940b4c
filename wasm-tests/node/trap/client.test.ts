import type { ServerEvent } from 'mcp-listen';
import {
  type ListenError,
  listen,
  type Subscription,
  SubscriptionLost,
  type Watch,
  watch,
} from 'mcp-listen/client';
import { stdio } from 'mcp-listen/client/stdio';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { watchUpstream } from '../../../dist/cloudflare/gateway/upstream/watch.js';
import { poisonClient } from '../../host/poison.ts';
import { STDIO_SERVER } from '../../host/stdio.ts';
import { served } from '../client/serving.ts';

const TOOLS = { toolsListChanged: true };
const BOTH = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const LOST = { code: 'core-trapped', cause: expect.any(Error) };
const PATIENT = { timeout: 10_000 };

afterEach(() => {
  vi.restoreAllMocks();
});

async function host() {
  const started = await served({ legacy: 'sessions' });
  onTestFinished(() => started.stop());
  return started;
}

async function next(subscription: Subscription): Promise<ServerEvent | undefined> {
  for await (const event of subscription) return event;
  return undefined;
}

async function live(watched: Watch): Promise<void> {
  onTestFinished(() => watched.close());
  await expect.poll(() => watched.state, PATIENT).toBe('live');
}

describe('a subscription', () => {
  test.each(['2026-07-28', '2025'] as const)(
    'is lost when the core traps, and the next one receives (%s)',
    async (revision) => {
      const { bus, server, url } = await host();
      const [one, other] = [
        await listen(url, TOOLS, { revision }),
        await listen(url, TOOLS, { revision }),
      ];
      const lost = [next(one), next(other)];
      poisonClient();
      await server.notify.toolsChanged();
      for (const one of lost) {
        await expect(one).rejects.toBeInstanceOf(SubscriptionLost);
        await expect(one).rejects.toMatchObject(LOST);
      }
      // The client no longer holds a stream.
      await expect.poll(() => server.stats().open, PATIENT).toBe(0);
      const again = await listen(url, TOOLS, { revision });
      const received = next(again);
      await server.notify.toolsChanged();
      expect(await received).toMatchObject({ kind: 'tools_list_changed' });
      expect(bus).toBeDefined();
    },
  );

  test('is lost when the core traps before it is open', async () => {
    const { url } = await host();
    const opening = listen(url, TOOLS, {
      fetch: async (request) => {
        const response = await fetch(request);
        poisonClient();
        return response;
      },
    });
    await expect(opening).rejects.toMatchObject(LOST);
  });

  test('rejects when the core traps in listen, and the next one opens', async () => {
    const { url } = await host();
    poisonClient();
    await expect(listen(url, TOOLS)).rejects.toMatchObject(LOST);
    await using again = await listen(url, TOOLS);
    expect(again.honored).toEqual(TOOLS);
  });
});

describe('an open subscription', () => {
  test('is lost when the core traps in its timer', async () => {
    const { url } = await host();
    const subscription = await listen(url, TOOLS, { maxSilenceMs: 200 });
    poisonClient();
    await expect(next(subscription)).rejects.toMatchObject(LOST);
  });

  test('may be closed after a trap', async () => {
    const { server, url } = await host();
    const subscription = await listen(url, TOOLS);
    poisonClient();
    await subscription.close();
    await expect.poll(() => server.stats().open, PATIENT).toBe(0);
  });

  test('on stdio is lost when the core traps, and the next one opens', async () => {
    const subscription = await listen(
      stdio({ command: process.execPath, args: [STDIO_SERVER] }),
      TOOLS,
    );
    const lost = next(subscription);
    poisonClient();
    await expect(listen('http://localhost:1/', TOOLS)).rejects.toMatchObject(LOST);
    await expect(lost).rejects.toMatchObject(LOST);
    await using again = await listen(
      stdio({ command: process.execPath, args: [STDIO_SERVER] }),
      TOOLS,
    );
    expect(again.honored).toEqual(TOOLS);
  });

  test('is lost when the core cannot restart, and the next call tries again', async () => {
    const { server, url } = await host();
    const lost = next(await listen(url, TOOLS));
    const instance = vi.spyOn(WebAssembly, 'Instance').mockImplementation(
      class {
        constructor() {
          throw new RangeError('out of memory');
        }
      } as never,
    );
    poisonClient();
    await server.notify.toolsChanged();
    await expect(lost).rejects.toMatchObject({
      code: 'core-trapped',
      cause: expect.any(AggregateError),
    });
    await expect(listen(url, TOOLS)).rejects.toMatchObject({ code: 'core-trapped' });
    instance.mockRestore();
    await using again = await listen(url, TOOLS);
    expect(again.honored).toEqual(TOOLS);
  });
});

describe('a watch', () => {
  test('opens again after a trap, reads everything again, and receives changes', async () => {
    const { server, url } = await host();
    const read: string[] = [];
    const errors: ListenError[] = [];
    const handlers = { tools: () => read.push('tools'), resource: (uri: string) => read.push(uri) };
    const watched = watch(url, BOTH, handlers, { onError: (error) => errors.push(error) });
    await live(watched);
    poisonClient();
    await server.notify.resourceUpdated('note://a');
    await expect.poll(() => watched.reconnects, PATIENT).toBe(1);
    await live(watched);
    expect(read).toEqual(['tools', 'note://a', 'tools', 'note://a']);
    expect(errors).toMatchObject([LOST]);
    await server.notify.toolsChanged();
    await expect.poll(() => read.length, PATIENT).toBe(5);
    expect(server.stats().open).toBe(1);
  });

  test('opens and reads when the core traps at its start', async () => {
    const { url } = await host();
    let reads = 0;
    poisonClient();
    await live(watch(url, TOOLS, () => (reads += 1)));
    expect(reads).toBe(1);
  });

  test('opens again and reads when the core traps before it reads', async () => {
    const { url } = await host();
    let reads = 0;
    const watched = watch(url, TOOLS, { tools: () => (reads += 1) });
    watched.subscribe(() => watched.state === 'live' && watched.reconnects === 0 && poisonClient());
    await expect.poll(() => watched.reconnects, PATIENT).toBeGreaterThan(0);
    await live(watched);
    expect(reads).toBeGreaterThan(0);
  });

  test('makes its next attempt in the new core', async () => {
    const { server, url } = await host();
    const watched = watch(url, TOOLS, () => {});
    await live(watched);
    const leave = watched.subscribe(() => {
      if (watched.state !== 'waiting') return;
      leave();
      poisonClient();
    });
    await server.drain({ count: 1, windowMs: 0 });
    await expect.poll(() => watched.reconnects, PATIENT).toBe(1);
    await live(watched);
  });
});

describe('a bus that watches an upstream', () => {
  async function upstream() {
    const { server, url } = await host();
    const cued: ServerEvent[] = [];
    const errors: Error[] = [];
    const bus = {
      wanted: BOTH as object,
      publishAll: async (events: string[]) =>
        void cued.push(...events.map((event) => JSON.parse(event))),
      wakeBy: async () => {},
    };
    const watcher = watchUpstream({ url, onError: (error) => errors.push(error) })(
      '',
      bus as never,
    );
    onTestFinished(async () => {
      bus.wanted = {};
      await watcher?.alarm();
    });
    return { cued, errors, server, watcher };
  }
  const ALL = [{ kind: 'tools_list_changed' }, { kind: 'resource_updated', uri: 'note://a' }];

  test('subscribes again after a trap, and resyncs what it watches', async () => {
    const { cued, errors, server, watcher } = await upstream();
    watcher?.wantedChanged();
    await expect.poll(() => cued, PATIENT).toEqual(ALL);
    poisonClient();
    await server.notify.toolsChanged();
    await expect.poll(() => cued, PATIENT).toEqual([...ALL, ...ALL]);
    expect(errors).toMatchObject([{ code: 'upstream-lost', cause: LOST }]);
    await server.notify.toolsChanged();
    await expect.poll(() => cued.length, PATIENT).toBe(5);
  });

  test('subscribes when the core traps as it does so', async () => {
    const { cued, errors, watcher } = await upstream();
    poisonClient();
    watcher?.wantedChanged();
    await expect.poll(() => cued, PATIENT).toEqual(ALL);
    expect(errors).toEqual([]);
  });
});
