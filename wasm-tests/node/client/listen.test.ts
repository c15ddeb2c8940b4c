import { ListenError, type ListenHandlerOptions as ServerOptions } from 'mcp-listen';
import {
  type ClientListenOptions,
  listen,
  type Subscription,
  type SubscriptionFilter,
  SubscriptionRefused,
  SubscriptionsNotSupported,
  watch,
} from 'mcp-listen/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { declaring } from '../../host/options.ts';
import { served } from './serving.ts';

async function serving(options: ServerOptions = {}) {
  const host = await served(options);
  onTestFinished(() => host.stop());
  return host;
}

async function listening(filter: SubscriptionFilter, options: ClientListenOptions = {}) {
  const host = await serving();
  const subscription = await listen(host.url, filter, options);
  onTestFinished(() => subscription.close());
  return { ...host, subscription };
}

async function drained(subscription: Subscription): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of subscription) kinds.push(event.kind);
  return kinds;
}

describe('a subscription', () => {
  test('resolves at the acknowledgment with the honored filter, the id and the revision', async () => {
    const { subscription } = await listening({
      toolsListChanged: true,
      resourceSubscriptions: ['note://a'],
    });
    expect(subscription.honored).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['note://a'],
    });
    expect(subscription.id).toBe('"mcp-listen:2"');
    expect(subscription.revision).toBe('2026-07-28');
  });

  test('iterates over changes, each subject once', async () => {
    const { subscription, server } = await listening({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://a'],
      taskIds: [],
    });
    await server.notify.toolsChanged();
    await server.notify.resourceUpdated('note://a');
    const kinds: string[] = [];
    for await (const event of subscription) {
      kinds.push(event.kind);
      if (kinds.length === 2) break;
    }
    expect(kinds).toEqual(['tools_list_changed', 'resource_updated']);
  });

  test('collapses changes that are not read', async () => {
    const { subscription, server } = await listening({
      toolsListChanged: true,
      resourcesListChanged: true,
    });
    for (let count = 0; count < 50; count += 1) await server.notify.toolsChanged();
    await server.notify.resourcesChanged();
    await server.close();
    expect(await drained(subscription)).toEqual(['tools_list_changed', 'resources_list_changed']);
  });

  test('closes its stream when its loop is left', async () => {
    const { subscription, server, bus } = await listening({ toolsListChanged: true });
    await server.notify.toolsChanged();
    for await (const _ of subscription) break;
    await expect.poll(() => bus.attached).toBe(0);
  });

  test('ends a waiting loop on close', async () => {
    const { subscription, bus } = await listening({ toolsListChanged: true });
    const ended = drained(subscription);
    await subscription.close();
    await ended;
    await expect.poll(() => bus.attached).toBe(0);
  });

  test('ends listen and its loop with the reason of an aborted signal', async () => {
    const { url } = await serving();
    const reason = new Error('enough');
    await expect(listen(url, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const abort = new AbortController();
    const subscription = await listen(url, { toolsListChanged: true }, { signal: abort.signal });
    const ended = drained(subscription);
    abort.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });
});

describe('closing a subscription', () => {
  test('again, or after its end, sends nothing and ends no other', async () => {
    const asked: Request[] = [];
    const recording = (async (request: Request) => {
      asked.push(request);
      return await fetch(request);
    }) as typeof fetch;
    const { subscription, url, server } = await listening(
      { toolsListChanged: true },
      { fetch: recording },
    );
    const other = await listen(url, { toolsListChanged: true }, { fetch: recording });
    const sent = asked.length;
    await subscription.close();
    await subscription.close();
    await expect.poll(() => server.stats().open).toBe(1);
    expect(asked.filter(({ signal }) => signal.aborted)).toHaveLength(1);
    await server.close();
    expect(await drained(other)).toEqual([]);
    await other.close();
    expect(asked.slice(sent)).toEqual([]);
    expect(asked.filter(({ method }) => method !== 'POST')).toEqual([]);
  });
});

describe('a client', () => {
  test('distinguishes a server without subscriptions', async () => {
    const { url } = await serving({ server: declaring({}) });
    const subscription = await listen(url, { toolsListChanged: true });
    expect(subscription.honored).toEqual({});
    expect(await drained(subscription)).toEqual([]);
    const response = {
      jsonrpc: '2.0',
      id: 'mcp-listen:1',
      error: { code: -32601, message: 'no such method' },
    };
    const none = () => Promise.resolve(Response.json(response, { status: 404 }));
    const refused = listen(
      url,
      { toolsListChanged: true },
      { fetch: none, revision: '2026-07-28' },
    );
    await expect(refused).rejects.toBeInstanceOf(SubscriptionsNotSupported);
  });

  test('keeps the code and the status of a rejection', async () => {
    const { url } = await serving({ limits: { uris: 1 } });
    const refused = listen(url, { resourceSubscriptions: ['note://a', 'note://b'] });
    await expect(refused).rejects.toBeInstanceOf(SubscriptionRefused);
    await expect(refused).rejects.toMatchObject({ code: 'refused', status: 400, rpcCode: -32602 });
    await expect(refused).rejects.toMatchObject({ name: 'SubscriptionRefused' });
    await expect(refused).rejects.toBeInstanceOf(ListenError);
  });

  test.each([{ ackTimeoutMs: -1 }, { maxSilenceMs: Number.NaN }])(
    'refuses the timeout %o',
    async (options) => {
      const url = 'http://localhost/mcp';
      const fault = expect.objectContaining({ code: 'invalid-options' });
      await expect(listen(url, {}, options)).rejects.toThrow(fault);
      expect(() => watch(url, {}, () => {}, options)).toThrow(fault);
    },
  );

  test('calls its token provider again after a 401', async () => {
    const tokens = ['of server/discover', 'stale', 'fresh'];
    const asked: (string | null)[] = [];
    const { url } = await serving({
      principal: (request) => {
        const given = request.headers.get('authorization');
        asked.push(given);
        return given === 'Bearer fresh' ? 'me' : { denied: 401 };
      },
    });
    const subscription = await listen(
      url,
      { toolsListChanged: true },
      { token: () => tokens.shift() ?? 'fresh' },
    );
    onTestFinished(() => subscription.close());
    expect(asked).toContain('Bearer stale');
    expect(asked.at(-1)).toBe('Bearer fresh');
  });

  test('passes every message verbatim to onMessage', async () => {
    const shown: string[] = [];
    await listening(
      { toolsListChanged: true },
      {
        onMessage: ({ direction, text }) =>
          shown.push(`${direction} ${JSON.parse(text).method ?? 'response'}`),
      },
    );
    expect(shown).toEqual([
      'out server/discover',
      'in response',
      'out subscriptions/listen',
      'in notifications/subscriptions/acknowledged',
    ]);
  });
});
