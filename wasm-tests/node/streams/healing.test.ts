import type { ListenHandler, ListenHandlerOptions } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { fields, LegacySession } from '../../host/legacy.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, open, RESULT, serving, TOOLS } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';
import { useFakeTime } from './fake-time.ts';

useFakeTime();

test('a stream that lost its bus stays open, reconnects, and receives what it missed once', async () => {
  const { bus, server, stream } = await opened();
  bus.lose();
  expect(server.stats()).toMatchObject({ open: 1, away: 1, healed: 0, gaps: 0, resyncs: 0 });
  for (let count = 0; count < 3; count += 1) await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ open: 1, away: 0, healed: 1, gaps: 0, resyncs: 0 });
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  expect(bus.sockets[1]?.since).toBe(0);
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
  await expect.poll(() => server.stats().open).toBe(0);
  expect(server.stats()).toMatchObject({ away: 0, outages: 1, healed: 1, gaps: 0, resyncs: 0 });
});

test.each(['down', 'overloaded', 'silent'] as const)(
  'a stream retries while its bus is %s',
  async (availability) => {
    const { bus, server, stream } = await opened({ timeouts: { attachMs: 1_000 } });
    bus.availability = availability;
    bus.lose();
    await server.notify.toolsChanged();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(server.stats().away).toBe(1);
    bus.availability = 'open';
    await vi.advanceTimersByTimeAsync(availability === 'overloaded' ? 30_000 : 3_000);
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(bus.sockets.slice(0, -1).every(({ isClosed }) => isClosed)).toBe(true);
    expect(server.stats()).toMatchObject({ away: 0, healed: 1 });
  },
);

test('keep-alives continue while the bus is unavailable', async () => {
  const { bus, stream } = await opened({ keepAliveMs: 1_000 });
  bus.availability = 'down';
  bus.lose();
  for (let count = 0; count < 3; count += 1) {
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await stream.block()).toMatch(/^:/);
  }
});

test('an overloaded bus is retried later', async () => {
  const { bus } = await opened();
  bus.availability = 'overloaded';
  bus.lose();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bus.sockets).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(bus.sockets).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(bus.sockets).toHaveLength(3);
});

test('with bus-outdated a stream ends as outdated, after pending cues and without a result', async () => {
  const onLog = vi.fn();
  const { bus, server, stream } = await opened({ onLog });
  bus.availability = 'down';
  bus.lose('outdated');
  await vi.advanceTimersByTimeAsync(14_900);
  expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { outdated: 1 } });
  expect(onLog).toHaveBeenCalledWith(expect.objectContaining({ event: 'end', reason: 'outdated' }));
});

test('messages of a former socket are ignored', async () => {
  const { bus, server, stream } = await opened();
  const [former] = bus.sockets;
  bus.lose();
  former?.receive(
    '{"v":1,"type":"followed","seq":2,"epoch":"x","position":0,"after":0,"events":[]}',
  );
  await vi.advanceTimersByTimeAsync(2_000);
  former?.break();
  former?.receive(
    '{"v":1,"type":"batch","through":9,' +
      '"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]}',
  );
  await vi.advanceTimersByTimeAsync(10);
  expect(server.stats()).toMatchObject({ away: 0, healed: 1 });
  await closed(server);
  expect(await stream.message()).toBe(RESULT);
  expect(bus.sockets).toHaveLength(2);
});

test('a stream requests what was lost on the way', async () => {
  const { bus, server, stream } = await opened({}, { ...TOOLS, promptsListChanged: true });
  bus.muted = 1;
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  // The bus was asked at the attach, and is not asked twice within a second.
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ gaps: 1, resyncs: 0 });
  expect(bus.sockets).toHaveLength(1);
});

test('busProbeIntervalMs recovers the last event where it was lost', async () => {
  const { bus, server, stream } = await opened({ busProbeIntervalMs: 5_000 });
  bus.muted = 1;
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('close waits a second for a lost bus, resyncs, and then sends the result', async () => {
  const { bus, server, stream } = await opened();
  bus.availability = 'down';
  bus.lose();
  let isClosed = false;
  const closed = server.close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect(isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(3);
  await closed;
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('close first receives what was published before it, without a delay', async () => {
  const { bus, server, stream } = await opened(
    {},
    { toolsListChanged: true, promptsListChanged: true },
  );
  bus.muted = 1;
  await server.notify.toolsChanged();
  await closed(server);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, resyncs: 0, ended: { closed: 1 } });
});

test('if events may be missing, the stream of a named principal ends without a result', async () => {
  const { bus, server, stream } = await opened({ principal: () => 'ann' });
  bus.availability = 'silent';
  bus.lose();
  const closed = server.close();
  await vi.advanceTimersByTimeAsync(1_002);
  await closed;
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { closed: 0, denied: 1 } });
});

test('streams that end while the bus is unavailable leave no timer and no attachment behind', async () => {
  const bus = new BreakableBus();
  const server = serving({ bus });
  const aborts = Array.from({ length: 100 }, () => new AbortController());
  const opening = aborts.map(({ signal }) => server.fetch(listenRequest(TOOLS, { signal })));
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all(opening);
  bus.availability = 'silent';
  for (const socket of bus.sockets.slice()) socket.break();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(server.stats()).toMatchObject({ open: 100, away: 100 });
  for (const abort of aborts) abort.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
  expect(bus.sockets.every(({ isClosed }) => isClosed)).toBe(true);
  expect(server.stats()).toMatchObject({ open: 0, away: 0 });
});

test('the stream of a session reconnects with its session', async () => {
  const bus = new BreakableBus();
  const { send, server } = sessionServer({ bus });
  const session = await LegacySession.begin(send);
  const stream = await session.open();
  await stream.event();
  bus.lose();
  await session.ask('resources/subscribe', { uri: 'note://a' });
  await server.notify.resourceUpdated('note://a');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  expect(bus.attempts[1]?.follow).toMatchObject({ joined: [`${session.id} 1`], since: 0 });
});

test('the stream of a session probes its bus without a new connection', async () => {
  const bus = new BreakableBus();
  const { send, server } = sessionServer({ bus, busProbeIntervalMs: 1_000, maxConnectionAgeMs: 0 });
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: 'note://a' });
  const stream = await session.open();
  await stream.event();
  await vi.advanceTimersByTimeAsync(10_000);
  bus.muted = 1;
  await server.notify.resourceUpdated('note://a');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(fields(await stream.event())).toMatchObject({ data: { params: { uri: 'note://a' } } });
  expect(bus.attempts).toHaveLength(1);
  expect(server.stats()).toMatchObject({ open: 1, healed: 0, resyncs: 0 });
});

test('a bus that is unreachable before the ack gives 503 after a second attempt', async () => {
  const bus = new BreakableBus();
  bus.availability = 'down';
  const onError = vi.fn();
  const refused = serving({ bus, onError }).fetch(listenRequest(TOOLS));
  await vi.advanceTimersByTimeAsync(2_000);
  expect((await refused).status).toBe(503);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.sockets).toHaveLength(2);
  expect(onError).toHaveBeenCalledOnce();
});

/** Closes a server whose bus replies. */
async function closed(server: ListenHandler): Promise<void> {
  const closing = server.close();
  await vi.advanceTimersByTimeAsync(10);
  await closing;
}

/** A server on a bus that a test can break, and an acknowledged stream. */
async function opened(
  options: ListenHandlerOptions & { bus?: BreakableBus } = {},
  filter: object = TOOLS,
) {
  const { bus = new BreakableBus() } = options;
  const server = serving({ ...options, bus });
  const opening = open(server, filter);
  await vi.advanceTimersByTimeAsync(1);
  const wire = await opening;
  expect(await wire.message()).toBe(acknowledged('1', filter));
  const block = (): Promise<string | undefined> => wire.block();
  /** Streams are written to after the turn of the event loop in which an event arrives. */
  const message = async (): Promise<string | undefined> => {
    const next = wire.message();
    await vi.advanceTimersByTimeAsync(1);
    return next;
  };
  return { bus, server, stream: { block, message, drop: () => wire.drop() } };
}
