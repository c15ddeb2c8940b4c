import { InMemoryBus, type ListenHandler, type StreamLogRecord } from 'mcp-listen';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Opening } from '../../dist/bus/opening.js';
import { BusSocket } from '../../dist/cloudflare/edge/bus-socket.js';
import { SharedConnection } from '../../dist/streams/connection/shared-connection.js';
import { WRITE_BUDGET } from '../../dist/streams/connection/write-budget.js';
import { RequestContext } from '../../dist/timing/request-context.js';
import { open, serving as serve } from './serving.ts';
import { EVENT, SmallBus, URI } from './small-bus.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('a request that has the socket and is gone without a word is replaced within seconds', async () => {
  const { bus, heard, line } = await lined(3);
  const { context, member } = line.owner ?? {};
  const { run } = RequestContext.prototype;
  vi.spyOn(RequestContext.prototype, 'run').mockImplementation(function (
    this: RequestContext,
    task,
  ) {
    if (this !== context && this !== member?.context) run.call(this, task);
  });
  bus.fallSilent();
  bus.publish();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets).toHaveLength(2);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('so is one that was to open the next socket and never did', async () => {
  const { bus, heard, leave } = await lined(3);
  const asked = vi.spyOn(RequestContext.prototype, 'run').mockImplementation(() => {});
  leave(0);
  asked.mockRestore();
  bus.fallSilent();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets).toHaveLength(1);
  bus.publish();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets).toHaveLength(2);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a socket that another request tried to close is closed by its own', async () => {
  const { bus, leave } = await lined(1);
  for (const socket of bus.sockets) socket.isForeign = true;
  leave(0);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([false]);
  for (const socket of bus.sockets) socket.isForeign = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a request that was only slow to show that it lives lets go of the socket that another one has replaced', async () => {
  const { bus, line } = await lined(3);
  const { context } = line.owner ?? {};
  const { run } = RequestContext.prototype;
  const late: (() => void)[] = [];
  vi.spyOn(RequestContext.prototype, 'run').mockImplementation(function (
    this: RequestContext,
    task,
  ) {
    if (this === context) late.push(task);
    else run.call(this, task);
  });
  // To whoever is another request the socket is not there.
  for (const socket of bus.sockets) socket.isForeign = true;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  for (const socket of bus.sockets) socket.isForeign = false;
  for (const task of late) task();
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
});

test('a request that is cancelled while its socket opens lives until it has closed it', async () => {
  const { bus, leave } = await lined(1, { isEarly: true });
  expect(bus.openings).toHaveLength(1);
  leave(0);
  await vi.advanceTimersByTimeAsync(0);
  await Promise.all(bus.openings);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('a bus that does not confirm within attachMs is lost, and asked on another socket', async () => {
  const { bus } = await lined(1, { attachMs: 1_000 });
  bus.fallSilent();
  bus.sockets[0]?.break();
  bus.door = 'silent';
  await vi.advanceTimersByTimeAsync(1_900);
  const tried = bus.sockets.length;
  expect(tried).toBeGreaterThan(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(bus.sockets.length).toBeGreaterThan(tried);
});

test('a request that lives is left alone', async () => {
  const { bus } = await lined(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.sockets).toHaveLength(1);
});

test('a request that leaves hands the socket over at once', async () => {
  const { bus, heard, leave } = await lined(3);
  leave(0);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a request that leaves while it does something closes its socket all the same', async () => {
  const { bus, line, leave } = await lined(1);
  line.owner?.context.run(() => leave(0));
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('whoever was to take the socket over may leave before it did', async () => {
  const { bus, heard, leave } = await lined(20);
  for (let place = 0; place < 19; place += 1) leave(place);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(heard[19]?.at(-1)).toContain(URI);
});

test('a stream that comes while nobody has the socket opens one at once', async () => {
  const { attach, bus, leave } = await lined(2);
  const asked = vi.spyOn(RequestContext.prototype, 'run').mockImplementation(() => {});
  leave(0);
  asked.mockRestore();
  const frames = attach();
  await vi.advanceTimersByTimeAsync(10);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  expect(frames.at(-1)).toContain(URI);
});

test('requests take turns at what is written for all', async () => {
  budget(500);
  const { bus, heard, line } = await lined(100);
  const first = line.owner;
  for (let event = 0; event < 11; event += 1) {
    bus.publish();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(bus.sockets).toHaveLength(3);
  expect(line.owner).not.toBe(first);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  // With the acknowledgment.
  for (const frames of heard) expect(frames).toHaveLength(13);
});

test('a request that has spent its budget never has the socket again; when all have, the oldest streams end', async () => {
  const { attach, heardBy, holders, lost, server } = await spent(12);
  expect(holders).toHaveLength(3);
  expect(new Set(holders).size).toBe(3);
  // The one that has the socket goes on until a fresh one comes.
  expect(lost).toHaveLength(1);
  expect(server.stats().ended).toMatchObject({ exhausted: 1 });
  await heardBy();
  expect([holders.length, lost.length]).toEqual([3, 1]);
  const fresh = attach();
  await vi.advanceTimersByTimeAsync(10);
  await heardBy();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('where the one that has the socket leaves and all others are spent, a fresh one takes over', async () => {
  const { attach, heardBy, holders, leave, lost } = await spent(12);
  for (const place of [0, 1, 2]) if (!lost.includes(place)) leave(place);
  const fresh = attach();
  await vi.advanceTimersByTimeAsync(10);
  await heardBy();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('an acknowledgment does not wait for what else may come in the turn of the event loop', async () => {
  const { attach, bus, heard } = await lined(1);
  bus.delay();
  bus.publish();
  const frames = attach({ resourceSubscriptions: ['note://b'] });
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  // What the first one heard before goes with it.
  expect([frames.length, heard[0]?.length]).toEqual([1, 2]);
});

test('what comes in one turn of the event loop is written to all streams together, each resource and list once', async () => {
  const { bus, heard } = await lined(3);
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  for (const event of [EVENT, TOOLS, PROMPTS, EVENT]) bus.publish(event);
  for (const frames of heard) expect(frames).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(0);
  const chunks = enqueue.mock.calls
    .map(([chunk]) => chunk)
    .filter((chunk) => chunk instanceof Uint8Array);
  expect(new Set(chunks.slice(0, 3)).size).toBe(1);
  await vi.advanceTimersByTimeAsync(10);
  for (const frames of heard) expect(frames).toHaveLength(4);
});

test('a stream that cannot be written to keeps no other from hearing, and is written to by its own request', async () => {
  const { bus, heard, refused } = await lined(3);
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  enqueue.mockImplementationOnce(() => {
    throw new Error('of another request');
  });
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  expect(refused).toEqual(['of another request']);
  for (const frames of heard) expect(frames.at(-1)).toContain(URI);
});

test('a log is told that the streams of a line lost the bus, and have it again, in one record', async () => {
  const { bus, records } = await lined(3);
  bus.sockets[0]?.break();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(bus.sockets).toHaveLength(2);
  expect(records).toEqual([
    { event: 'outage', streams: 3 },
    { event: 'heal', streams: 3, awayMs: expect.any(Number) },
  ]);
});

/**
 * A line with three streams, whose requests have all written as much as they may, and which of them
 * had the socket.
 */
async function spent(writes: number) {
  budget(writes);
  const { attach, bus, leave, line, lost, server } = await lined(3);
  const holders: unknown[] = [];
  const heardBy = async (): Promise<void> => {
    bus.publish();
    await vi.advanceTimersByTimeAsync(10);
    const member = line.owner?.member;
    if (member !== holders.at(-1)) holders.push(member);
  };
  for (let event = 0; event < 50 && lost.length === 0; event += 1) await heardBy();
  return { attach, heardBy, holders, leave, lost, server };
}

/** Bounds how many writes one request does for all. */
function budget(writes: number): void {
  const former = WRITE_BUDGET.writes;
  WRITE_BUDGET.writes = writes;
  onTestFinished(() => {
    WRITE_BUDGET.writes = former;
  });
}

test('a line that settles asks the bus once for all its streams, which then have what was lost', async () => {
  const { bus, heard, line } = await lined(3);
  bus.fallSilent();
  bus.publish();
  bus.speakAgain();
  const asked = bus.sockets[0]?.sent;
  const settled = Promise.all([line.settle(), line.settle()]);
  await vi.advanceTimersByTimeAsync(10);
  await settled;
  for (const frames of heard) expect(frames.slice(1).join()).toContain(URI);
  // The second one comes after what the answer to the first one replays.
  expect((bus.sockets[0]?.sent ?? 0) - (asked ?? 0)).toBe(2);
});

test('a line is not settled while what it received waits for another request to write it', async () => {
  budget(5);
  const { bus, heard, line } = await lined(3);
  for (const event of [EVENT, TOOLS, PROMPTS]) bus.publish(event);
  const told: number[] = [];
  void line.settle().then(() => told.push(...heard.map((frames) => frames.length)));
  await vi.advanceTimersByTimeAsync(1_000);
  for (const frames of told) expect(frames).toBeGreaterThanOrEqual(4);
  expect(told).toHaveLength(3);
});

test('a line whose bus does not answer is not settled', async () => {
  const { bus, line } = await lined(3);
  bus.fallSilent();
  let isSettled = false;
  void line.settle().then(() => {
    isSettled = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isSettled).toBe(false);
});

/** A line with so many streams, each acknowledged, or not yet. */
async function lined(count: number, { attachMs = 5_000, isEarly = false } = {}) {
  const records: StreamLogRecord[] = [];
  const bus = new SmallBus();
  const refused: string[] = [];
  const line = new SharedConnection({
    connect: (frame, link) =>
      new BusSocket(bus.doors, { continent: '', isSession: false }, frame, link),
    waitUntil: bus.doors.waitUntil,
    attachMs,
    busProbeIntervalMs: 0,
    isShared: true,
    hasOwnContexts: true,
    onError: (error) => refused.push(error.message),
    onLog: (record) => records.push(record),
    onRefused: (error) => refused.push(error.message),
    onParted: () => expect.unreachable('nobody has to go'),
    onEmpty: () => {},
  });
  const inner = new InMemoryBus();
  const openStream = async (opening: Opening) => line.open(opening, 0);
  const server = serve({
    bus: Object.assign(inner, { openStream }),
    keepAliveMs: 0,
    onError: () => {},
  });
  const lost: number[] = [];
  const aborts: AbortController[] = [];
  const attach = (filter: object = FILTER): string[] => {
    const frames: string[] = [];
    const abort = new AbortController();
    const place = aborts.push(abort) - 1;
    void read(server, abort, frames, filter).then(() => {
      if (!abort.signal.aborted) lost.push(place);
    });
    return frames;
  };
  const heard = Array.from({ length: count }, () => attach());
  await vi.advanceTimersByTimeAsync(isEarly ? 0 : 10);
  if (!isEarly) for (const frames of heard) expect(frames).toHaveLength(1);
  return {
    attach,
    bus,
    heard,
    line,
    lost,
    records,
    refused,
    server,
    leave: (place: number) => aborts[place]?.abort(),
  };
}

/** Reads a stream to its end. */
async function read(
  server: ListenHandler,
  abort: AbortController,
  frames: string[],
  filter: object,
): Promise<void> {
  try {
    const stream = await open(server, filter, { abort });
    for (let frame = await stream.message(); frame !== undefined; frame = await stream.message())
      frames.push(frame);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
}

const FILTER = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] };
const [TOOLS, PROMPTS] = ['tools', 'prompts'].map((list) =>
  JSON.stringify({ kind: `${list}_list_changed` }),
);
