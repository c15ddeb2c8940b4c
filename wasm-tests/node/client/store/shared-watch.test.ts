import { setTimeout as pause } from 'node:timers/promises';
import { SubscriptionRefused, watch } from 'mcp-listen/client';
import { shareWatch } from 'mcp-listen/client/store';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pass } from '../../../host/virtual-clock.ts';
import { served } from '../serving.ts';
import { A, live, scripted, sharing, TOOLS } from './sharing.ts';

const B = { resourceSubscriptions: ['note://b'] };

test('a shared watch opens one stream for what many watch, and calls each for its part', async () => {
  const { bus, filters, server, shared } = await sharing();
  const calls: string[] = [];
  shared.watch(TOOLS, { tools: () => calls.push('tools') });
  shared.watch(A, { resource: (uri) => calls.push(`1 ${uri}`) });
  shared.watch(A, { resource: (uri) => calls.push(`2 ${uri}`) });
  await live(shared);
  expect(filters).toEqual([{ ...TOOLS, ...A }]);
  expect(bus.attached).toBe(1);
  expect(calls).toEqual(['tools', '1 note://a', '2 note://a']);
  await server.notify.resourceUpdated('note://a');
  await expect.poll(() => calls.slice(3)).toEqual(['1 note://a', '2 note://a']);
});

test('a shared watch reads only what is new when a filter joins, and misses nothing meanwhile', async () => {
  const { bus, filters, server, shared } = await sharing();
  const calls: string[] = [];
  const handler = { resource: (uri: string) => calls.push(uri) };
  shared.watch(A, handler);
  await live(shared);
  shared.watch(A, () => calls.push('covered'));
  await expect.poll(() => calls).toEqual(['note://a', 'covered']);
  shared.watch(B, handler);
  await server.notify.resourceUpdated('note://a');
  await expect
    .poll(() => shared.status.getSnapshot().honored)
    .toEqual({ resourceSubscriptions: ['note://a', 'note://b'] });
  await expect.poll(() => calls.slice(2).sort()).toEqual(['covered', 'note://a', 'note://b']);
  expect(filters).toHaveLength(2);
  await expect.poll(() => bus.attached).toBe(1);
});

test('a shared watch closes its stream when the last filter has left, and opens another one later', async () => {
  const { bus, shared } = await sharing();
  const stop = shared.watch(TOOLS, () => {});
  await live(shared);
  stop();
  shared.watch(TOOLS, () => {})();
  await expect.poll(() => bus.attached).toBe(0);
  expect(shared.status.getSnapshot().state).toBe('stopped');
  shared.watch(TOOLS, () => {});
  await live(shared);
});

test('a shared watch stays open while a filter is added and removed in one turn', async () => {
  const { bus, shared } = await sharing();
  const stop = shared.watch(TOOLS, () => {});
  await live(shared);
  stop();
  shared.watch(TOOLS, () => {})();
  await pause(500);
  expect(bus.attached).toBe(1);
  await expect.poll(() => bus.attached).toBe(0);
});

test('a shared watch understands both ends of a stream: a result, and notifications/cancelled', async () => {
  const ends = [
    { id: 1, result: { resultType: 'complete' } },
    { method: 'notifications/cancelled', params: { requestId: 1 } },
  ];
  const states: (string | undefined)[] = [];
  const fetch = async (...request: ConstructorParameters<typeof Request>) => {
    const { id, params } = await new Request(...request).json();
    return streamOf(id, params.notifications, ends.shift());
  };
  await using shared = shareWatch((filter, handlers) =>
    watch('http://localhost/mcp', filter, handlers, {
      fetch: fetch as typeof globalThis.fetch,
      revision: '2026-07-28',
    }),
  );
  shared.status.subscribe(({ error, state }) => {
    if (state === 'waiting') states.push(error?.code);
  });
  let reads = 0;
  shared.watch(TOOLS, () => {
    reads += 1;
  });
  await expect.poll(() => reads).toBe(3);
  expect(states).toEqual([undefined, 'cancelled']);
});

test('a shared watch opens again after a loss', async () => {
  const { server, shared } = await sharing();
  let reads = 0;
  shared.watch(TOOLS, () => {
    reads += 1;
  });
  await live(shared);
  expect(reads).toBe(1);
  await server.drain({ windowMs: 0, count: 1 });
  await expect.poll(() => reads).toBe(2);
});

test('a shared watch keeps a stream that was opening when the previous one stopped', async () => {
  const { shared, watches } = scripted();
  shared.watch(TOOLS, () => {});
  await expect.poll(() => watches.length).toBe(1);
  watches[0]?.set('live', { honored: TOOLS });
  shared.watch(A, () => {});
  await expect.poll(() => watches.length).toBe(2);
  watches[0]?.set('stopped');
  const joined = vi.fn();
  shared.watch(TOOLS, joined);
  expect(shared.status.getSnapshot().state).toBe('connecting');
  watches[1]?.set('live', { honored: { ...TOOLS, ...A } });
  expect(shared.status.getSnapshot().state).toBe('live');
  expect(joined).toHaveBeenCalledTimes(1);
  const late = vi.fn();
  shared.watch(TOOLS, late);
  await expect.poll(() => late).toHaveBeenCalledTimes(1);
  expect(watches).toHaveLength(2);
});

test('a shared watch without room for two streams replaces the first one by a larger one', async () => {
  const { bus, filters, shared } = await sharing({
    principal: () => 'ann',
    limits: { maxSubscriptionsPerPrincipal: 1 },
  });
  shared.watch(TOOLS, () => {});
  await live(shared);
  const handler = vi.fn();
  shared.watch(A, handler);
  await expect.poll(() => handler).toHaveBeenCalled();
  expect(filters).toEqual([TOOLS, { ...TOOLS, ...A }]);
  expect(bus.attached).toBe(1);
});

test('a shared watch without room for two streams keeps the first one if it covers the second', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { shared, watches } = scripted();
  shared.watch(TOOLS, () => {});
  const stop = shared.watch(A, () => {});
  await pass(1);
  watches[0]?.set('live', { honored: { ...TOOLS, ...A } });
  stop();
  // The machine sleeps, and no timer fires meanwhile.
  vi.setSystemTime(Date.now() + 31_000);
  shared.watch(TOOLS, () => {});
  await pass(1);
  expect(watches).toHaveLength(2);
  watches[1]?.set('waiting', { error: new SubscriptionRefused('full', { status: 429 }) });
  expect(watches.map(({ state }) => state)).toEqual(['live', 'stopped']);
  expect(shared.status.getSnapshot().state).toBe('live');
});

test('a shared watch reports a handler that fails', async () => {
  const host = await served();
  onTestFinished(() => host.stop());
  const onError = vi.fn();
  await using shared = shareWatch((filter, handlers) => watch(host.url, filter, handlers), {
    onError,
  });
  shared.watch(TOOLS, () => Promise.reject(new Error('no')));
  await expect
    .poll(() => onError)
    .toHaveBeenCalledWith(expect.objectContaining({ code: 'handler-failed' }));
});

/** A stream that acknowledges everything, and ends with a message if there is one. */
function streamOf(id: number, notifications: object, end?: object): Response {
  const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
  const method = 'notifications/subscriptions/acknowledged';
  const messages: object[] = [{ method, params: { _meta, notifications } }];
  if (end !== undefined) {
    const text = JSON.stringify(end).replace(/"(id|requestId)":1/, `"$1":${JSON.stringify(id)}`);
    messages.push(JSON.parse(text));
  }
  const text = messages
    .map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    .join('');
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}
