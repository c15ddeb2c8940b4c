import { InMemoryBus, type ListenHandler, type ListenHandlerOptions } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listChanged } from '../../host/listen.ts';
import { listenRequest, open, refusal, serving, TOOLS, watched } from '../serving.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a stream that is not read for writeMs ends without a result, and counts as stalled', async () => {
  const { attached, server } = watched();
  const response = await server.fetch(listenRequest(TOOLS));
  await vi.advanceTimersByTimeAsync(79_000);
  expect(attached()).toBe(0);
  expect(server.stats()).toMatchObject({ open: 0, ended: { stalled: 1 } });
  expect(await response.text()).not.toContain('result');
});

test('a stream whose keep-alives are read never stalls', async () => {
  const { server } = watched({ timeouts: { writeMs: 1_000 } });
  const stream = await open(server, TOOLS);
  let keepAlives = 0;
  const read = async (): Promise<void> => {
    for (let block = await stream.block(); block !== undefined; block = await stream.block()) {
      if (block === ': keep-alive') keepAlives += 1;
    }
  };
  void read();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(server.stats().open).toBe(1);
  expect(keepAlives).toBeGreaterThan(30);
});

test('a stall is detected in time even where keep-alives are rarer', async () => {
  const { server } = watched({ timeouts: { writeMs: 100 }, keepAliveMs: 1_000_000 });
  await server.fetch(listenRequest(TOOLS));
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(102);
  expect(server.stats()).toMatchObject({ open: 0, ended: { stalled: 1 } });
});

test.each([0, Number.POSITIVE_INFINITY])('a writeMs of %s ends no stream', async (writeMs) => {
  const { server } = watched({ timeouts: { writeMs } });
  await server.fetch(listenRequest(TOOLS));
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(10_000_000);
  expect(server.stats().open).toBe(1);
});

test('a drain over more time than a timer can wait ends no stream early', async () => {
  const { server } = watched();
  const stream = await open(server, TOOLS);
  await stream.block();
  void server.drain({ windowMs: 2 ** 32 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(server.stats().open).toBe(1);
  stream.drop();
});

test('a timeout that no timer can wait for does not pass at once', async () => {
  const bus = new InMemoryBus();
  const authorize: ListenHandlerOptions['authorize'] = ({ requested }) =>
    new Promise((resolve) => setTimeout(() => resolve(requested), 1_000));
  const server = serving({ bus, authorize, timeouts: { authorizeMs: 2 ** 32 } });
  const opening = open(server, TOOLS);
  await vi.advanceTimersByTimeAsync(1_000);
  const stream = await opening;
  expect(await stream.block()).toContain('acknowledged');
  stream.drop();
});

test('a stream retires at maxConnectionAgeMs, give or take 20 %, without a result', async () => {
  const { server } = watched({ maxConnectionAgeMs: 1_000, keepAliveMs: 0 });
  const ages = new Set<number>();
  for (let count = 0; count < 20; count += 1) {
    const stream = await open(server, TOOLS);
    await stream.block();
    const opened = performance.now();
    const end = stream.block();
    await vi.advanceTimersToNextTimerAsync();
    expect(await end).toBeUndefined();
    const age = performance.now() - opened;
    expect(age).toBeGreaterThanOrEqual(800);
    expect(age).toBeLessThanOrEqual(1_202);
    ages.add(age);
  }
  expect(ages.size).toBeGreaterThan(10);
  expect(server.stats()).toMatchObject({ open: 0, ended: { rotated: 20, closed: 0 } });
});

test('a stream has no maximum age by default', async () => {
  const { server } = watched({ keepAliveMs: 0 });
  await open(server, TOOLS);
  expect(vi.getTimerCount()).toBe(0);
});

test('a drain refuses new listens, and spreads the ends of streams over its window', async () => {
  const { attached, server } = watched({ keepAliveMs: 0 });
  const ends = await endsOf(server, 100);
  const began = performance.now();
  const drained = server.drain({ windowMs: 10_000 });
  expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({
    status: 503,
    retryAfter: '2',
  });
  await vi.advanceTimersByTimeAsync(10_002);
  await drained;
  expect(attached()).toBe(0);
  const seconds = ends.map((at) => Math.min(Math.floor((at - began) / 1_000), 9));
  for (let second = 0; second < 10; second += 1) {
    const count = seconds.filter((one) => one === second).length;
    expect(count).toBeGreaterThanOrEqual(9);
    expect(count).toBeLessThanOrEqual(11);
  }
  expect(server.stats()).toMatchObject({ open: 0, ended: { drained: 100, closed: 0 } });
});

test('a slow bus delays the ends of a drain, and does not bunch them', async () => {
  const bus = new InMemoryBus();
  const slow = { settle: () => new Promise<void>((resolve) => setTimeout(resolve, 400)) };
  const server = serving({ bus: Object.assign(bus, slow), keepAliveMs: 0 });
  const ends = await endsOf(server, 100);
  const began = performance.now();
  const drained = server.drain({ windowMs: 10_000 });
  await vi.advanceTimersByTimeAsync(11_100);
  await drained;
  expect(ends.length).toBe(100);
  expect((ends[0] ?? 0) - began).toBeGreaterThanOrEqual(400);
  // Each has a slice of 100 ms and waits for 400: four at a time would end together.
  for (let place = 3; place < 100; place += 1) {
    expect((ends[place] ?? 0) - (ends[place - 3] ?? 0)).toBeGreaterThan(20);
  }
});

test('a drain writes pending cues, and no result', async () => {
  const { server } = watched({ keepAliveMs: 0 });
  const stream = await open(server, TOOLS);
  await stream.message();
  void server.drain({ windowMs: 1_000 });
  await server.notify.toolsChanged();
  await vi.advanceTimersByTimeAsync(1_002);
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBeUndefined();
});

test.each([12, 10_000])(
  'a drain over %i ms that all clients leave has no timer left when it resolves',
  async (windowMs) => {
    const bus = Object.assign(new InMemoryBus(), { settle: () => new Promise<void>(() => {}) });
    const server = serving({ bus, keepAliveMs: 0 });
    const streams = [await open(server, TOOLS), await open(server, TOOLS)];
    for (const stream of streams) await stream.block();
    const timers = server.drain({ windowMs }).then(() => vi.getTimerCount());
    await vi.advanceTimersByTimeAsync(13);
    for (const stream of streams) stream.drop();
    await vi.advanceTimersByTimeAsync(3_001);
    expect(await timers).toBe(0);
  },
);

test('a drain aborts streams that are not read, five seconds after its window', async () => {
  const { server } = watched({ keepAliveMs: 0 });
  await server.fetch(listenRequest(TOOLS));
  await server.notify.toolsChanged();
  const drained = server.drain({ windowMs: 100 });
  await vi.advanceTimersByTimeAsync(5_101);
  await drained;
  expect(server.stats()).toMatchObject({ open: 0, ended: { aborted: 1 } });
});

test('a drain with a count ends the oldest streams, and the server continues to serve', async () => {
  const { server } = watched({ keepAliveMs: 0 });
  const streams = [await open(server, TOOLS), await open(server, TOOLS), await open(server, TOOLS)];
  for (const stream of streams) await stream.block();
  const drained = server.drain({ count: 2, windowMs: 10 });
  await vi.advanceTimersByTimeAsync(12);
  await drained;
  expect(server.stats()).toMatchObject({ open: 1, ended: { drained: 2 } });
  await server.notify.toolsChanged();
  expect(await streams[2]?.message()).toBe(listChanged('1', 'tools'));
  expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
});

test.each([{ count: Number.NaN }, { count: -1 }, { windowMs: Number.NaN }, { windowMs: -1 }])(
  'a drain of %o is refused, and ends no stream',
  async (options) => {
    const { server } = watched();
    await open(server, TOOLS);
    await expect(server.drain(options)).rejects.toMatchObject({ code: 'invalid-options' });
    await server.drain({ count: 0 });
    expect(server.stats().open).toBe(1);
    expect((await server.fetch(listenRequest(TOOLS))).status).toBe(200);
  },
);

test('streams are counted by how they ended', async () => {
  const { server } = watched({ keepAliveMs: 0 });
  const left = await open(server, TOOLS);
  left.drop();
  const closed = await open(server, TOOLS);
  void server.close();
  while ((await closed.block()) !== undefined);
  expect(server.stats().ended).toEqual({
    closed: 1,
    left: 1,
    stalled: 0,
    rotated: 0,
    drained: 0,
    expired: 0,
    denied: 0,
    outdated: 0,
    exhausted: 0,
    lost: 0,
    trapped: 0,
    aborted: 0,
  });
});

/** Opens streams; returns a list to which the time of each end is added. */
async function endsOf(server: ListenHandler, streams: number): Promise<number[]> {
  const ends: number[] = [];
  for (let count = 0; count < streams; count += 1) {
    const stream = await open(server, TOOLS);
    await stream.block();
    void stream.block().then(() => ends.push(performance.now()));
  }
  return ends;
}
