import { type Broker, type BrokerListener, brokerBus } from 'mcp-listen';
import { eventLog } from 'mcp-listen/events';
import { expect } from 'vitest';
import { callRequest } from '../../../host/call.ts';
import { EventReader } from '../../../host/events.ts';
import { pass, settle } from '../../../host/virtual-clock.ts';
import { type Checks, notifications } from './check.ts';
import { serving } from './serving.ts';

/** Streams, and cursors of event types that cannot be replayed. */
export const STREAM: Checks = {
  'sep-9999-stream-implemented': async () => {
    const { publish, stream } = serving();
    const reader = await stream();
    await publish('one', 'two');
    expect(await notifications(reader, 3)).toEqual([ACTIVE, EVENT, EVENT]);
  },

  'sep-9999-stream-error-before-open': async () => {
    const { send } = serving();
    for (const [params, code] of [
      [{ name: 'unknown' }, -32_011],
      [{ name: 'noted', arguments: { topic: 7 } }, -32_602],
    ] as const) {
      const response = await send('events/stream', params);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ id: 1, error: { code } });
    }
  },

  'sep-9999-stream-active-confirmation': async () => {
    expect(await (await serving().stream()).next()).toMatchObject({
      method: ACTIVE,
      params: {
        cursor: expect.any(String),
        truncated: false,
        _meta: { [SUBSCRIPTION_ID]: 1 },
      },
    });
  },

  'sep-9999-stream-subscription-id-meta': async () => {
    const { handler, publish } = serving();
    const readers = new Map<string | number, EventReader>();
    for (const id of [0, 7, '7']) {
      const request = callRequest('http://127.0.0.1/mcp', 'events/stream', { name: 'noted' });
      const body = JSON.stringify({ ...(await request.clone().json()), id });
      const { headers, url } = request;
      const response = await handler.fetch(new Request(url, { method: 'POST', headers, body }));
      readers.set(id, new EventReader(response));
    }
    await publish('one');
    for (const [id, reader] of readers) {
      const messages = [await reader.next(), await reader.next()];
      await pass(30_000);
      messages.push(await reader.next());
      for (const [place, method] of [ACTIVE, EVENT, HEARTBEAT].entries())
        expect(messages[place]).toMatchObject({
          method,
          params: { _meta: { [SUBSCRIPTION_ID]: id } },
        });
    }
  },

  'sep-9999-stream-event-notification': async () => {
    const { publish, stream } = serving();
    const reader = await stream();
    await reader.next();
    await publish('one');
    expect(await reader.next()).toMatchObject({
      method: EVENT,
      params: {
        ...{ eventId: 'one', name: 'noted', data: { topic: 'one' } },
        timestamp: new Date().toISOString(),
        cursor: expect.any(String),
      },
    });
  },

  'sep-9999-stream-error-is-recoverable': async () => {
    const { handler, stream } = serving();
    const reader = await stream({ name: 'judged' });
    await reader.next();
    await handler.notify.event('judged', { isBad: true });
    await handler.notify.event('judged', {}, { id: 'good' });
    expect(await reader.next()).toMatchObject({
      method: 'notifications/events/error',
      params: { error: { code: -32_603 } },
    });
    expect(await reader.next()).toMatchObject({ method: EVENT, params: { eventId: 'good' } });
  },

  'sep-9999-stream-terminated-ends-subscription': async () => {
    const { handler, stream } = serving();
    const reader = await stream();
    await reader.next();
    await handler.disconnect('ada');
    expect(await reader.next()).toMatchObject({
      method: TERMINATED,
      params: { error: { code: -32_012 } },
    });
    await reader.next();
    expect(await reader.next()).toBeUndefined();
  },

  'sep-9999-stream-gap-resends-active': async () => {
    const { handler, stream } = serving({ log: { logEvents: 10 } });
    const reader = await stream();
    expect(await reader.next()).toMatchObject({ params: { truncated: false } });
    // More than a client that reads nothing is sent, and than the log holds.
    for (let index = 0; index < 2_000; index += 1)
      await handler.notify.event('noted', { topic: 'x'.repeat(1_000) }, { id: `n${index}` });
    const read: Record<string, unknown>[] = [];
    while (read.at(-1)?.['eventId'] !== 'n1999') read.push((await reader.next())?.params ?? {});
    const gap = read.findIndex(({ eventId }) => eventId === undefined);
    expect(read[gap]).toMatchObject({ cursor: expect.any(String), truncated: true });
    expect(read.length - gap).toBeGreaterThanOrEqual(10);
  },

  'sep-9999-stream-heartbeat-required': async () => {
    const reader = await serving().stream();
    await reader.next();
    for (const _ of [1, 2, 3]) {
      await pass(30_000);
      expect((await reader.next())?.method).toBe(HEARTBEAT);
    }
  },

  'sep-9999-stream-heartbeat-carries-cursor': async () => {
    const { poll, publish, stream } = serving();
    const reader = await stream({ arguments: { topic: 'mine' } });
    const active = await reader.next();
    await publish('other');
    await pass(30_000);
    const cursor = (await reader.next())?.params['cursor'];
    expect(cursor).toBe((await poll()).cursor);
    expect(cursor).not.toBe(active?.params['cursor']);
  },

  'sep-9999-stream-heartbeat-interval': async () => {
    const reader = await serving().stream();
    await reader.next();
    const began = Date.now();
    const beat = reader.next();
    let isBeaten = false;
    void beat.then(() => {
      isBeaten = true;
    });
    while (!isBeaten && Date.now() - began < 60_000) {
      await pass(1_000);
      await settle();
    }
    expect(Date.now() - began).toBeLessThanOrEqual(30_000);
  },

  'sep-9999-stream-heartbeat-not-sse-comment': async () => {
    const { send } = serving();
    const response = await send('events/stream', { name: 'noted' });
    const reading = start(response, 3);
    for (const _ of [1, 2, 3]) {
      await settle();
      await pass(30_000);
    }
    const text = await reading;
    expect(text).toContain(HEARTBEAT);
    for (const line of text.split('\n')) expect(line).toMatch(/^(event: |data: |$)/);
  },

  'sep-9999-stream-cancel-stops-delivery': async () => {
    const { publish, send } = serving({ events: { maxSubscriptionsPerPrincipal: 1 } });
    const first = await send('events/stream', { name: 'noted' });
    expect((await send('events/stream', { name: 'noted' })).status).toBe(400);
    await first.body?.cancel();
    await settle();
    await publish('one');
    expect((await send('events/stream', { name: 'noted' })).status).toBe(200);
  },

  'sep-9999-stream-exempt-from-concurrency-cap': async () => {
    const { poll, publish, stream } = serving();
    const readers = await Promise.all(Array.from({ length: 16 }, () => stream()));
    expect((await poll()).events).toEqual([]);
    await publish('one');
    for (const reader of readers) expect(await notifications(reader, 2)).toEqual([ACTIVE, EVENT]);
  },

  'sep-9999-stream-carries-only-event-notifications': async () => {
    const { handler, publish, stream } = serving();
    const reader = await stream();
    await handler.notify.toolsChanged();
    await handler.notify.resourceUpdated('file:///notes');
    await handler.notify.event('judged', {});
    await publish('one');
    expect(await notifications(reader, 2)).toEqual([ACTIVE, EVENT]);
    await pass(30_000);
    expect(await notifications(reader, 1)).toEqual([HEARTBEAT]);
  },

  'sep-9999-cursor-consistency': async () => {
    const kept = serving();
    for (const cursor of await cursorsOf({ ...kept, reader: await kept.stream() }))
      expect(cursor).toBeTypeOf('string');
    expect(await cursorsOf(await servingWithoutLog())).toEqual([null, null, null]);
  },

  'sep-9999-truncated-false-when-no-replay': async () => {
    const { reader } = await servingWithoutLog({ cursor: 'former', maxAgeMs: 1 });
    expect((await reader.next())?.params).toMatchObject({ cursor: null, truncated: false });
  },
};

/** A server whose bus keeps no occurrences, and a stream of it. */
async function servingWithoutLog(params: object = {}) {
  const bus = brokerBus(new Loop(), { events: eventLog() });
  const server = serving({ bus });
  return { ...server, reader: await server.stream(params) };
}

/** Returns the cursors with which a stream begins, has an occurrence, and is silent. */
async function cursorsOf({ publish, reader }: Awaited<ReturnType<typeof servingWithoutLog>>) {
  await publish('one');
  const messages = [await reader.next(), await reader.next()];
  await pass(30_000);
  messages.push(await reader.next());
  return messages.map((message) => message?.params['cursor']);
}

/** A broker of one process that keeps nothing. */
class Loop implements Broker {
  #listener: BrokerListener | undefined;

  async publish(events: string): Promise<void> {
    this.#listener?.onEvents(events);
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    this.#listener = listener;
    listener.onReady({ isContiguous: true });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  async close(): Promise<void> {}
}

/** Returns the text of the first events of a response. */
async function start({ body }: Response, count: number): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.split('\n\n').length > count) break;
  }
  return text;
}

const ACTIVE = 'notifications/events/active';
const EVENT = 'notifications/events/event';
const HEARTBEAT = 'notifications/events/heartbeat';
const TERMINATED = 'notifications/events/terminated';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
