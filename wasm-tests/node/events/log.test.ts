import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { defineEvents, type EventLogOptions, eventLog } from 'mcp-listen/events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MemoryEventRows } from '../../../dist/bus/memory/event-rows.js';
import drafts from '../../corpus/brokers/drafts.json' with { type: 'json' };
import { poisonEvents } from '../../host/poison.ts';
import { until } from '../../host/virtual-clock.ts';
import { discovering, requestOf } from './requests.ts';

interface Polled {
  cursor: string;
  events: { eventId: string }[];
  truncated: boolean;
}

/** A server with one event type, and its bus. */
function serving(log: EventLogOptions = {}) {
  const bus = new InMemoryBus({ events: eventLog(log), onError: () => {} });
  const events = defineEvents({ paid: {} });
  const server = createListenHandler(discovering, { bus, events });
  const poll = async (cursor?: string): Promise<Polled> => {
    const params = { name: 'paid', cursor, maxEvents: 200 };
    const response = await server.fetch(requestOf('events/poll', params, 1));
    return ((await response.json()) as { result: Polled }).result;
  };
  return { bus, poll };
}

test.each(drafts.accepted)('an occurrence is accepted: $name', async ({ data, options }) => {
  const { position } = await serving().bus.emit('paid', data, options);
  expect(position).toBe(1);
});

test.each(drafts.refused)('an occurrence is refused: $name', async ({ data, options }) => {
  await expect(serving().bus.emit('paid', data, options)).rejects.toHaveProperty('code');
});

test('an id is known only in its group', async () => {
  const { bus } = serving();
  const emitAll = async () => {
    const emitted = [{}, { group: 'g' }, { group: 'h' }].map((options) =>
      bus.emit('paid', {}, { id: 'order-7', ...options }),
    );
    return (await Promise.all(emitted)).map(({ position }) => position);
  };
  const positions = await emitAll();
  expect(new Set(positions).size).toBe(3);
  expect(await emitAll()).toEqual(positions);
});

test('most of the log remains when it has too many bytes', async () => {
  const { bus, poll } = serving({ logBytes: 20_000 });
  const { cursor } = await poll();
  for (let number = 0; number < 75; number += 1)
    await bus.emit('paid', { text: 'x'.repeat(200) }, { id: `${number}` });
  const { cursor: oldest, truncated } = await poll(cursor);
  expect(truncated).toBe(true);
  const { events } = await poll(oldest);
  expect(events.length).toBeGreaterThan(50);
  expect(events.at(-1)).toMatchObject({ eventId: '74' });
});

test('the log keeps its events when the core traps', async () => {
  const { bus, poll } = serving();
  const { cursor } = await poll();
  await bus.emit('paid', {}, { id: 'before' });
  poisonEvents();
  const failed = bus.emit('paid', {}, { id: 'failed' });
  await expect(failed).rejects.toMatchObject({ code: 'core-trapped' });
  await bus.emit('paid', {}, { id: 'after' });
  const { events, truncated } = await poll(cursor);
  expect(events).toMatchObject([{ eventId: 'before' }, { eventId: 'after' }]);
  expect(truncated).toBe(false);
});

test('what a trap has left half added keeps its position', async () => {
  const { bus, poll } = serving();
  const { cursor } = await poll();
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(MemoryEventRows.prototype, 'keepName').mockImplementationOnce(poisonEvents);
  const failed = bus.emit('paid', {}, { id: 'failed' });
  await expect(failed).rejects.toMatchObject({ code: 'core-trapped' });
  const first = await poll(cursor);
  expect(await bus.emit('paid', {}, { id: 'after' })).toMatchObject({ position: 2 });
  const second = await poll(first.cursor);
  const received = [...first.events, ...second.events];
  expect(received).toMatchObject([{ eventId: 'failed' }, { eventId: 'after' }]);
});

/** A server with one occurrence, whose polls wait until the test decides whether it matches. */
async function matchingLate(limits: ListenHandlerOptions['limits'] = {}) {
  const matching: ((isMatch: boolean) => void)[] = [];
  const match = () => new Promise<boolean>((resolve) => matching.push(resolve));
  const bus = new InMemoryBus({ events: eventLog() });
  const server = createListenHandler(discovering, {
    bus,
    events: defineEvents({ paid: { match } }),
    limits,
    principal: (request) => request.headers.get('authorization') ?? undefined,
    timeouts: { authorizeMs: 0 },
  });
  const poll = async (caller: string | undefined, address?: string) => {
    const request = requestOf('events/poll', { name: 'paid', cursor: '' }, 1);
    if (address !== undefined) {
      request.headers.set('cf-connecting-ip', address);
      Object.defineProperty(request, 'cf', { value: { colo: 'AMS' } });
    }
    if (caller !== undefined) request.headers.set('authorization', caller);
    return (await server.fetch(request)).json();
  };
  await bus.emit('paid', {});
  return { matching, poll };
}

const refused = (max: number) => ({ error: { data: { limit: 'polls', max } } });

test('a caller has four polls at a time, and callers without a name 64', async () => {
  const { matching, poll } = await matchingLate();
  const running = [...Array(4).fill('ann'), 'bob', ...Array(64).fill(undefined)].map((caller) =>
    poll(caller),
  );
  await expect.poll(() => matching.length).toBe(69);
  expect(await poll('ann')).toMatchObject(refused(4));
  expect(await poll(undefined)).toMatchObject(refused(64));
  for (const settle of matching) settle(true);
  for (const result of await Promise.all(running)) expect(result).toMatchObject({ result: {} });
  const again = poll('ann');
  await expect.poll(() => matching.length).toBe(70);
  matching.at(-1)?.(true);
  expect(await again).toMatchObject({ result: {} });
});

test.each([
  ['64 by default', {}, 64],
  ['fewer if the limit on its streams is lower', { maxSubscriptionsPerAddress: 100 }, 25],
  ['no more if that limit is higher', { maxSubscriptionsPerAddress: 400 }, 64],
  ['no fewer than a caller with a name', { maxSubscriptionsPerAddress: 0 }, 4],
])('callers without a name from one address have polls at a time: %s', async (_, limits, max) => {
  const { matching, poll } = await matchingLate(limits);
  const running = Array.from({ length: max }, () => poll(undefined, '203.0.113.7'));
  await expect.poll(() => matching.length).toBe(max);
  expect(await poll(undefined, '203.0.113.7')).toMatchObject(refused(max));
  const others = [poll(undefined, '203.0.113.8'), poll(undefined), poll('ann', '203.0.113.7')];
  await expect.poll(() => matching.length).toBe(max + 3);
  for (const settle of matching) settle(true);
  for (const result of await Promise.all([...running, ...others]))
    expect(result).toMatchObject({ result: {} });
});

test('a poll that never ends counts for its caller for a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { matching, poll } = await matchingLate();
  for (let count = 0; count < 4; count += 1) void poll('ann');
  await until(() => matching.length === 4);
  vi.setSystemTime(Date.now() + 59_999);
  expect(await poll('ann')).toMatchObject(refused(4));
  vi.setSystemTime(Date.now() + 1);
  const served = poll('ann');
  await until(() => matching.length === 5);
  matching.at(-1)?.(true);
  expect(await served).toMatchObject({ result: {} });
});
