import { ListenError, type ListenOptions } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fields, LegacySession } from '../host/legacy.ts';
import { acknowledged, listChanged, type WireStream } from '../host/listen.ts';
import { BreakableBus } from './breakable-bus.ts';
import { sessionServer } from './legacy-serving.ts';
import { listenRequest, open, RESULT, serving, TOOLS } from './serving.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a stream that lost its bus stays open, comes back, and hears what it missed once', async () => {
  const { bus, server, stream } = await opened();
  bus.lose();
  expect(server.stats()).toMatchObject({ open: 1, away: 1, healed: 0, gaps: 0, resyncs: 0 });
  for (let count = 0; count < 3; count += 1) await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ open: 1, away: 0, healed: 1, gaps: 0, resyncs: 0 });
  expect(bus.attempts.map(({ isLeft }) => isLeft)).toEqual([true, false]);
  expect(bus.attempts[1]?.joining?.since).toMatch(/^0-/);
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
  await vi.waitFor(() => expect(server.stats().open).toBe(0), 20_000);
  expect(server.stats()).toMatchObject({ away: 0, outages: 1, healed: 1, gaps: 0, resyncs: 0 });
});

test.each(['shut', 'throwing', 'silent'] as const)('a stream tries again while its bus is %s', async (door) => {
  const { bus, server, stream } = await opened({ limits: { attachMs: 1_000 } });
  bus.door = door;
  bus.lose();
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(server.stats().away).toBe(1);
  bus.door = 'open';
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(bus.attempts.slice(0, -1).every(({ isLeft }) => isLeft)).toBe(true);
  expect(server.stats()).toMatchObject({ away: 0, healed: 1 });
});

test('keep-alives go on while the bus is away', async () => {
  const { bus, stream } = await opened({ keepAliveMs: 1_000 });
  bus.door = 'shut';
  bus.lose();
  for (let count = 0; count < 3; count += 1) {
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await stream.block()).toMatch(/^:/);
  }
});

test('a bus that is overloaded is left alone for longer', async () => {
  const { bus } = await opened();
  bus.lose(new ListenError('bus-overloaded', 'too much'));
  await vi.advanceTimersByTimeAsync(14_000);
  expect(bus.attempts).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bus.attempts).toHaveLength(2);
});

test('a stream that was let go on purpose ends without a result, and does not come back', async () => {
  const { bus, server, stream } = await opened();
  bus.lose(new ListenError('bus-released', 'let go'));
  expect(await stream.message()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.attempts).toHaveLength(1);
  expect(server.stats()).toMatchObject({ open: 0, away: 0 });
});

test('a stream whose shared socket passes it on attaches soon, from where it stands, and never was away', async () => {
  const { bus, server, stream } = await opened();
  const { position, epoch } = JSON.parse(await attachedFrame(bus)) as { position: number; epoch: string };
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  bus.attempts.at(-1)?.link.lost(new ListenError('bus-full', 'no room here'), `${position}-${epoch}`);
  expect(server.stats()).toMatchObject({ open: 1, away: 0 });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bus.attempts).toHaveLength(2);
  expect(bus.attempts[1]?.joining?.since).toBe(`${position}-${epoch}`);
  // It says again what was published since then.
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ open: 1, away: 0, outages: 0, resyncs: 0 });
});

test.each([
  ['bus-outdated', 'outdated', 15_000],
  ['bus-exhausted', 'exhausted', 0],
] as const)('with %s a stream ends as %s, after what is pending and without a result', async (code, reason, ms) => {
  const onlog = vi.fn();
  const { bus, server, stream } = await opened({ onlog });
  bus.door = 'shut';
  bus.lose(new ListenError(code, 'told by a test'));
  if (ms > 0) await vi.advanceTimersByTimeAsync(ms - 100);
  if (ms > 0) expect(server.stats().open).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { [reason]: 1 } });
  expect(onlog).toHaveBeenCalledWith(expect.objectContaining({ event: 'end', reason }));
});

test('a former attachment is not heard any more, whatever it still says', async () => {
  const { bus, server, stream } = await opened();
  const [former] = bus.attempts;
  bus.lose();
  former?.link.lost(new ListenError('bus-released', 'late'));
  former?.link.receive('{"v":1,"type":"attached","epoch":"x","position":0}');
  await vi.advanceTimersByTimeAsync(2_000);
  former?.link.lost(new Error('late'));
  former?.link.receive('{"v":1,"type":"event","position":9,"event":{"kind":"tools_list_changed"}}');
  await vi.advanceTimersByTimeAsync(10);
  expect(server.stats()).toMatchObject({ away: 0, healed: 1 });
  await server.close();
  expect(await stream.message()).toBe(RESULT);
  expect(bus.attempts).toHaveLength(2);
});

test.each([true, false])('what was lost on the way is asked for (in place: %s)', async (hasAgain) => {
  const bus = new BreakableBus();
  bus.hasAgain = hasAgain;
  const { server, stream } = await opened({ bus }, { ...TOOLS, promptsListChanged: true });
  bus.muted = 1;
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  await vi.advanceTimersByTimeAsync(10);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ gaps: 1, resyncs: 0 });
  expect(bus.attempts).toHaveLength(hasAgain ? 1 : 2);
});

test('verifyMs finds the last event lost, too', async () => {
  const { bus, server, stream } = await opened({ verifyMs: 5_000 });
  bus.muted = 1;
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('close waits a second for a bus that is away, cues what may have been missed, then gives the result', async () => {
  const { bus, server, stream } = await opened();
  bus.door = 'shut';
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

test('close receives what was published before it, then gives the result, without any time going by', async () => {
  const { bus, server, stream } = await opened({}, { toolsListChanged: true, promptsListChanged: true });
  bus.muted = 1;
  await server.notify.toolsChanged();
  await server.close();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, resyncs: 0, ended: { closed: 1 } });
});

test('in doubt, the stream of a named principal ends without a result', async () => {
  const { bus, server, stream } = await opened({ principal: () => 'ann' });
  bus.door = 'silent';
  bus.lose();
  const closed = server.close();
  await vi.advanceTimersByTimeAsync(1_002);
  await closed;
  expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { closed: 0, denied: 1 } });
});

test('streams that end while the bus is away leave no timer and no attachment behind', async () => {
  const bus = new BreakableBus();
  const server = serving({ bus });
  const aborts = Array.from({ length: 100 }, () => new AbortController());
  await Promise.all(aborts.map(({ signal }) => server.fetch(listenRequest(TOOLS, { signal }))));
  bus.door = 'silent';
  for (const { link } of bus.attempts.slice()) link.lost(new Error('gone'));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(server.stats()).toMatchObject({ open: 100, away: 100 });
  for (const abort of aborts) abort.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
  expect(bus.attempts.every(({ isLeft }) => isLeft)).toBe(true);
  expect(server.stats()).toMatchObject({ open: 0, away: 0 });
});

test('the stream of a session comes back with its session', async () => {
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
  expect(bus.attempts[1]?.joining).toMatchObject({ session: session.id, since: expect.stringMatching(/^0-/) });
});

test('the stream of a session that asks its bus stays the one that it is', async () => {
  const bus = new BreakableBus();
  const { send, server } = sessionServer({ bus, verifyMs: 1_000, maxConnectionAgeMs: 0 });
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

test('a bus that is lost before the ack is a 503', async () => {
  const bus = new BreakableBus();
  bus.door = 'shut';
  const onerror = vi.fn();
  expect((await serving({ bus, onerror }).fetch(listenRequest(TOOLS))).status).toBe(503);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.attempts).toHaveLength(1);
});

/** What the bus of a stream confirms. */
async function attachedFrame(bus: BreakableBus): Promise<string> {
  let attached = '';
  const receive = (frame: string): void => {
    attached = frame;
  };
  bus.inner.attach(TOOLS, { receive, lost: () => {} }).detach();
  return attached;
}

/** A server with a bus that can be broken, and a stream of it that was acknowledged. */
async function opened(options: ListenOptions & { bus?: BreakableBus } = {}, filter: object = TOOLS) {
  const { bus = new BreakableBus() } = options;
  const server = serving({ ...options, bus });
  const stream: WireStream = await open(server, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return { bus, server, stream };
}
