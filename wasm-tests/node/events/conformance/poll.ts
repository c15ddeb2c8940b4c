import { expect } from 'vitest';
import { pass } from '../../../host/virtual-clock.ts';
import type { Checks } from './check.ts';
import { idsOf, type PollPage, serving } from './serving.ts';

/** Polls, the members of occurrences, and cursors. */
export const POLL: Checks = {
  'sep-9999-poll-implemented': async () => {
    const { call } = serving();
    const { result } = await call('events/poll', { name: 'noted', arguments: {}, cursor: null });
    expect(result).toMatchObject({ events: [], cursor: expect.any(String), hasMore: false });
  },

  'sep-9999-poll-one-subscription-per-request': async () => {
    const { call, handler, poll, publish } = serving();
    const { cursor } = await poll();
    await handler.notify.event('judged', {});
    await publish('one');
    expect((await poll({ cursor })).events).toMatchObject([{ name: 'noted' }]);
    const { error } = await call('events/poll', { name: ['noted', 'judged'], cursor });
    expect(error?.code).toBe(-32_602);
  },

  'sep-9999-poll-bootstraps-subscription': async () => {
    const { poll, publish } = serving();
    const { cursor } = await poll({ cursor: null });
    await publish('one');
    expect(idsOf((await poll({ cursor })).events)).toEqual(['one']);
  },

  'sep-9999-poll-events-array': async () => {
    expect((await polled()).events).toHaveLength(1);
    expect((await serving().poll()).events).toEqual([]);
  },

  'sep-9999-poll-response-cursor': async () => {
    const { poll, publish } = serving();
    const { cursor } = await poll();
    await publish('one');
    const next = await poll({ cursor });
    expect(next.cursor).not.toBe(cursor);
    expect((await poll({ cursor: next.cursor })).events).toEqual([]);
  },

  'sep-9999-poll-next-poll-ms': async () => {
    const idle = await serving().poll();
    const busy = await polled();
    expect([idle.nextPollMs, busy.nextPollMs]).toEqual([30_000, 5_000]);
  },

  'sep-9999-poll-next-poll-ms-ignored-when-has-more': async () => {
    const { poll, publish } = serving();
    let page = await poll();
    await publish('one', 'two', 'three');
    const ids: unknown[] = [];
    // No time passes between these polls.
    do {
      page = await poll({ cursor: page.cursor, maxEvents: 1 });
      ids.push(...idsOf(page.events));
    } while (page.hasMore);
    expect(ids).toEqual(['one', 'two', 'three']);
  },

  'sep-9999-poll-has-more': async () => {
    const { poll, publish } = serving();
    const { cursor } = await poll();
    await publish('one', 'two');
    const first = await poll({ cursor, maxEvents: 1 });
    expect(first.hasMore).toBe(true);
    expect((await poll({ cursor: first.cursor })).hasMore).toBe(false);
  },

  'sep-9999-poll-max-events-cap': async () => {
    const { poll, publish } = serving();
    const { cursor } = await poll();
    await publish(...Array.from({ length: 60 }, (_, index) => `n${index}`));
    const few = await poll({ cursor, maxEvents: 3 });
    expect([idsOf(few.events), few.hasMore]).toEqual([['n0', 'n1', 'n2'], true]);
    expect((await poll({ cursor: few.cursor, maxEvents: 1 })).events).toMatchObject([
      { eventId: 'n3' },
    ]);
    const byDefault = await poll({ cursor });
    expect([byDefault.events.length, byDefault.hasMore]).toEqual([50, true]);
  },

  'sep-9999-poll-stateless-request': async () => {
    const { bus, poll, publish } = serving();
    const { cursor } = await poll();
    await publish('one');
    const page = await poll({ cursor });
    expect(await poll({ cursor })).toEqual(page);
    expect(await serving({ bus }).poll({ cursor })).toEqual(page);
  },

  'sep-9999-poll-errors-are-jsonrpc': async () => {
    const { call } = serving();
    for (const params of [
      { name: 'unknown' },
      { name: 'streamed' },
      { name: 'noted', arguments: { topic: 7 } },
    ]) {
      const response = await call('events/poll', params);
      expect(response).toMatchObject({
        ...{ jsonrpc: '2.0', id: 1 },
        error: { code: expect.any(Number), message: expect.any(String) },
      });
      expect(response).not.toHaveProperty('result');
    }
  },

  'sep-9999-poll-invalid-arguments': async () => {
    const { call } = serving();
    const { error } = await call('events/poll', { name: 'noted', arguments: { topic: 7 } });
    expect(error?.code).toBe(-32_602);
  },

  'sep-9999-poll-mode-unsupported': async () => {
    const { error } = await serving().call('events/poll', { name: 'streamed' });
    expect(error).toMatchObject({
      code: -32_014,
      data: { feature: 'deliveryMode', value: 'poll' },
    });
  },

  'sep-9999-occurrence-event-id': async () => {
    const { handler, poll } = serving();
    const { cursor } = await poll();
    for (const topic of ['one', 'two']) await handler.notify.event('noted', { topic });
    const ids = idsOf((await poll({ cursor })).events);
    expect(ids).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(new Set(ids).size).toBe(2);
    expect(idsOf((await poll({ cursor })).events)).toEqual(ids);
  },

  'sep-9999-occurrence-name': async () => {
    expect((await occurrence())['name']).toBe('noted');
  },

  'sep-9999-occurrence-timestamp': async () => {
    const { timestamp } = (await occurrence()) as { timestamp: string };
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
    expect(Date.parse(timestamp)).toBe(Date.now());
  },

  'sep-9999-occurrence-data': async () => {
    expect((await occurrence())['data']).toEqual({ topic: 'one' });
    await expect(serving().handler.notify.event('noted', { topic: 7 })).rejects.toMatchObject({
      code: 'invalid-event-data',
    });
  },

  'sep-9999-occurrence-cursor-optional': async () => {
    expect(await occurrence()).not.toHaveProperty('cursor');
    const { publish, stream } = serving();
    const reader = await stream();
    await reader.next();
    await publish('one');
    expect((await reader.next())?.params['cursor']).toBeTypeOf('string');
  },

  'sep-9999-occurrence-meta-ungoverned': async () => {
    const { publish, stream } = serving();
    const reader = await stream();
    await reader.next();
    await publish('one');
    const { params } = (await reader.next()) ?? {};
    expect(params).toHaveProperty('_meta');
    expect(params?.['data']).toEqual({ topic: 'one' });
  },

  'sep-9999-occurrence-event-id-from-upstream': async () => {
    const { poll, publish, stream } = serving();
    const reader = await stream();
    await reader.next();
    const { cursor } = await poll();
    await publish('upstream-7', 'upstream-7');
    expect(idsOf((await poll({ cursor })).events)).toEqual(['upstream-7']);
    expect((await reader.next())?.params['eventId']).toBe('upstream-7');
  },

  'sep-9999-cursor-opaque': async () => {
    const { call, poll } = serving();
    expect((await poll()).cursor).toMatch(/^.{1,256}$/);
    // A text that the server has not written is a place that is gone.
    expect(await poll({ cursor: 'made-up' })).toMatchObject({
      truncated: true,
      cursor: expect.any(String),
    });
    const { error } = await call('events/poll', { name: 'noted', cursor: 7 });
    expect(error?.code).toBe(-32_602);
  },

  'sep-9999-cursor-null-starts-from-now': async () => {
    const { poll, publish, stream } = serving();
    await publish('before');
    expect((await poll({ cursor: null })).events).toEqual([]);
    const reader = await stream({ cursor: null });
    await reader.next();
    await publish('after');
    expect((await reader.next())?.params['eventId']).toBe('after');
  },

  'sep-9999-cursor-absent-equals-null': async () => {
    const { poll, publish, stream } = serving();
    await publish('before');
    expect(await poll()).toEqual(await poll({ cursor: null }));
    const active = await Promise.all(
      [{}, { cursor: null }].map(async (params) => (await stream(params)).next()),
    );
    expect(active[0]).toEqual(active[1]);
  },

  'sep-9999-cursor-advances-when-quiet': async () => {
    const { handler, poll } = serving();
    const { cursor } = await poll();
    await handler.notify.event('judged', {});
    const quiet = await poll({ cursor });
    expect(quiet).toMatchObject({ events: [], cursor: expect.any(String), truncated: false });
    expect(quiet.cursor).not.toBe(cursor);
  },

  'sep-9999-max-age-ms-floor': async () => {
    const { aged, poll } = await servingAged();
    expect(idsOf((await poll({ cursor: aged, maxAgeMs: 30_000 })).events)).toEqual(['new']);
    expect(idsOf((await poll({ cursor: aged, maxAgeMs: 90_000 })).events)).toEqual(['old', 'new']);
  },

  'sep-9999-max-age-ms-sets-truncated': async () => {
    const { aged, poll, stream } = await servingAged();
    const params = { cursor: aged, maxAgeMs: 30_000 };
    expect((await poll(params)).truncated).toBe(true);
    expect((await poll({ ...params, maxAgeMs: 90_000 })).truncated).toBe(false);
    const active = await (await stream(params)).next();
    expect(active?.params['truncated']).toBe(true);
  },

  'sep-9999-max-age-ms-ignored-when-cursor-null': async () => {
    const { poll } = await servingAged();
    expect(await poll({ cursor: null, maxAgeMs: 30_000 })).toMatchObject({
      events: [],
      truncated: false,
    });
  },

  'sep-9999-replay-ceiling-sets-truncated': async () => {
    const { lost, poll } = await servingTrimmed();
    expect((await poll({ cursor: lost })).truncated).toBe(true);
  },

  'sep-9999-truncated-returns-fresh-cursor': async () => {
    const { lost, poll } = await servingTrimmed();
    let page = await poll({ cursor: lost });
    const ids = idsOf(page.events);
    while (page.hasMore) {
      page = await poll({ cursor: page.cursor });
      expect(page.truncated).toBe(false);
      ids.push(...idsOf(page.events));
    }
    expect(ids.length).toBeGreaterThanOrEqual(10);
    expect(ids.at(-1)).toBe('n39');
  },

  'sep-9999-truncated-poll-never-an-error': async () => {
    const { lost, poll } = await servingTrimmed();
    expect(await poll({ cursor: lost })).toMatchObject({
      events: [],
      cursor: expect.any(String),
      truncated: true,
      hasMore: true,
      nextPollMs: expect.any(Number),
    });
  },
};

/** The response to a poll that has one occurrence. */
async function polled(): Promise<PollPage> {
  const { poll, publish } = serving();
  const { cursor } = await poll();
  await publish('one');
  return poll({ cursor });
}

async function occurrence(): Promise<Record<string, unknown>> {
  const [one = {}] = (await polled()).events;
  return one;
}

/** A server with an occurrence of a minute ago and a new one; `aged` is a cursor before both. */
async function servingAged() {
  const server = serving();
  const { cursor: aged } = await server.poll();
  await server.publish('old');
  await pass(60_000);
  await server.publish('new');
  return { ...server, aged };
}

/** A server that has lost what came after the cursor `lost`. */
async function servingTrimmed() {
  const server = serving({ log: { logEvents: 10 } });
  const { cursor: lost } = await server.poll();
  await server.publish(...Array.from({ length: 40 }, (_, index) => `n${index}`));
  return { ...server, lost };
}
