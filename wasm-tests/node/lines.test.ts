import 'mcp-listen';
import type { LogRecord } from 'mcp-listen';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { SharedLine } from '../../dist/cloudflare/shared-line.js';
import { WRITE_BUDGET } from '../../dist/cloudflare/write-budget.js';
import { Home } from '../../dist/home.js';
import type { SharedFrames } from '../../dist/shared-frames.js';
import { EVENT, SmallBus, URI } from './small-bus.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('a request that has the socket and is gone without a word is replaced within seconds', async () => {
  const { bus, heard, line } = await serving(3);
  const { home, rider } = line.holder ?? {};
  const { ask } = Home.prototype;
  vi.spyOn(Home.prototype, 'ask').mockImplementation(function (this: Home, errand) {
    if (this !== home && this !== rider?.home) ask.call(this, errand);
  });
  bus.fallSilent();
  bus.publish();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets).toHaveLength(2);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('so is one that was to open the next socket and never did', async () => {
  const { bus, heard, leave } = await serving(3);
  const asked = vi.spyOn(Home.prototype, 'ask').mockImplementation(() => {});
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
  const { bus, leave } = await serving(1);
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
  const { bus, line } = await serving(3);
  const { home } = line.holder ?? {};
  const { ask } = Home.prototype;
  const late: (() => void)[] = [];
  vi.spyOn(Home.prototype, 'ask').mockImplementation(function (this: Home, errand) {
    if (this === home) late.push(errand);
    else ask.call(this, errand);
  });
  // To whoever is another request the socket is not there.
  for (const socket of bus.sockets) socket.isForeign = true;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  for (const socket of bus.sockets) socket.isForeign = false;
  for (const errand of late) errand();
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
});

test('a request that is cancelled while its socket opens lives until it has closed it', async () => {
  const bus = new SmallBus();
  const report = (error: Error): void => expect.unreachable(error.message);
  const line = new SharedLine({
    doors: bus.doors,
    attachMs: 5_000,
    continent: '',
    onerror: report,
    onrefused: report,
    onlog: () => {},
  });
  const attachment = line.attach(FILTER, { receive: () => {}, lost: report });
  expect(bus.openings).toHaveLength(1);
  attachment.detach();
  await Promise.all(bus.openings);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('a bus that does not confirm within attachMs is lost, and asked on another socket', async () => {
  const bus = new SmallBus();
  const ignore = (): void => {};
  const line = new SharedLine({
    doors: bus.doors,
    attachMs: 1_000,
    continent: '',
    onerror: ignore,
    onrefused: ignore,
    onlog: ignore,
  });
  line.attach(FILTER, { receive: ignore, lost: ignore });
  bus.fallSilent();
  await vi.advanceTimersByTimeAsync(990);
  expect(bus.sockets).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bus.sockets).toHaveLength(2);
});

test('a request that lives is left alone', async () => {
  const { bus } = await serving(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.sockets).toHaveLength(1);
});

test('a request that leaves hands the socket over at once', async () => {
  const { bus, heard, leave } = await serving(3);
  leave(0);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a request that leaves while it does something closes its socket all the same', async () => {
  const { bus, line, leave } = await serving(1);
  line.holder?.home.ask(() => leave(0));
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('whoever was to take the socket over may leave before it did', async () => {
  const { bus, heard, leave } = await serving(20);
  for (let place = 0; place < 19; place += 1) leave(place);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(heard[19]?.at(-1)).toContain(URI);
});

test('a stream that comes while nobody has the socket opens one at once', async () => {
  const { bus, line, leave } = await serving(2);
  const asked = vi.spyOn(Home.prototype, 'ask').mockImplementation(() => {});
  leave(0);
  asked.mockRestore();
  const frames: string[] = [];
  line.attach(FILTER, { receive: (frame) => frames.push(frame), lost: () => {} });
  await vi.advanceTimersByTimeAsync(0);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(frames.at(-1)).toContain(URI);
});

test('requests take turns at what is written for all', async () => {
  const { bus, heard, line } = await serving(100);
  const first = line.holder;
  for (let event = 0; event < 2_001; event += 1) bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets).toHaveLength(3);
  expect(line.holder).not.toBe(first);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  // With the confirmation.
  for (const frames of heard) expect(frames).toHaveLength(2_003);
});

test('a request that has spent its budget never has the socket again; when all have, the oldest streams end', async () => {
  const { attach, heardBy, holders, lost } = await spent(12);
  expect(holders).toHaveLength(3);
  expect(new Set(holders).size).toBe(3);
  // The one that has the socket goes on until a fresh one comes.
  expect(lost).toEqual([[expect.any(Number), 'bus-exhausted']]);
  await heardBy();
  expect([holders.length, lost.length]).toEqual([3, 1]);
  const fresh = attach();
  await heardBy();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('where the one that has the socket leaves and all others are spent, a fresh one takes over', async () => {
  const { attach, heardBy, holders, leave, lost } = await spent(12);
  const [[first] = [0]] = lost;
  for (const place of [0, 1, 2]) if (place !== first) leave(place);
  const fresh = attach();
  await vi.advanceTimersByTimeAsync(10);
  await heardBy();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('what comes in one turn of the event loop is given to all streams together', async () => {
  const { bus, heard, together } = await serving(3);
  for (const event of [EVENT, TOOLS, PROMPTS, EVENT]) bus.publish(event);
  for (const frames of heard) expect(frames).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(0);
  const [first, , , second] = together;
  // What is told again comes after that.
  expect(together).toEqual([...Array(3).fill(first), ...Array(3).fill(second)]);
  expect(first).not.toBe(second);
  for (const frames of heard) expect(frames).toHaveLength(5);
});

test('a stream that cannot be written to keeps no other from hearing', async () => {
  const { broken, bus, heard, refused } = await serving(3);
  broken.add(0);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toEqual(['of another request']);
  for (const frames of heard.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a log is told that the streams of a line lost the bus, and have it again, in one record', async () => {
  const { bus, records } = await serving(3);
  bus.sockets[0]?.break();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(bus.sockets).toHaveLength(2);
  expect(records).toEqual([
    { event: 'outage', streams: 3 },
    { event: 'heal', streams: 3, awayMs: expect.any(Number) },
  ]);
});

/** A line with three streams, whose requests have all written as much as they may, and which of them had the socket. */
async function spent(writes: number) {
  const former = WRITE_BUDGET.writes;
  WRITE_BUDGET.writes = writes;
  onTestFinished(() => {
    WRITE_BUDGET.writes = former;
  });
  const { attach, bus, leave, line, lost } = await serving(3);
  const holders: unknown[] = [];
  const heardBy = async (): Promise<void> => {
    bus.publish();
    await vi.advanceTimersByTimeAsync(10);
    const rider = line.holder?.rider;
    if (rider !== holders.at(-1)) holders.push(rider);
  };
  for (let event = 0; event < 50 && lost.length === 0; event += 1) await heardBy();
  return { attach, heardBy, holders, leave, lost };
}

test('a line that settles asks the bus once for all its streams, which then have what was lost', async () => {
  const { attachments, bus, heard, line } = await serving(3);
  bus.fallSilent();
  bus.publish();
  bus.speakAgain();
  const asked = bus.sockets[0]?.sent;
  const settled = Promise.all([line.settle(), line.settle()]);
  expect(attachments.map(({ isCertain }) => isCertain)).toEqual([false, false, false]);
  await vi.advanceTimersByTimeAsync(10);
  await settled;
  for (const frames of heard) expect(frames.slice(1).join()).toContain(URI);
  expect(attachments.map(({ isCertain }) => isCertain)).toEqual([true, true, true]);
  // The second one comes after what the answer to the first one replays.
  expect((bus.sockets[0]?.sent ?? 0) - (asked ?? 0)).toBe(2);
});

test('a line is not settled while what it received waits for another request to write it', async () => {
  const former = WRITE_BUDGET.writes;
  onTestFinished(() => {
    WRITE_BUDGET.writes = former;
  });
  const { bus, heard, line } = await serving(3);
  WRITE_BUDGET.writes = 5;
  for (let event = 0; event < 3; event += 1) bus.publish();
  const told: number[] = [];
  void line.settle().then(() => told.push(...heard.map((frames) => frames.length)));
  await vi.advanceTimersByTimeAsync(1_000);
  for (const frames of told) expect(frames).toBeGreaterThanOrEqual(4);
  expect(told).toHaveLength(3);
});

test('a line whose bus does not answer is neither settled nor certain', async () => {
  const { attachments, bus, line } = await serving(3);
  bus.fallSilent();
  let isSettled = false;
  void line.settle().then(() => {
    isSettled = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isSettled).toBe(false);
  expect(attachments.map(({ isCertain }) => isCertain)).toEqual([false, false, false]);
});

/** A line with so many streams, each attached. */
async function serving(count: number) {
  const records: LogRecord[] = [];
  const bus = new SmallBus();
  const refused: string[] = [];
  const line = new SharedLine({
    doors: bus.doors,
    attachMs: 5_000,
    continent: '',
    onerror: (error) => refused.push(error.message),
    onlog: (record) => records.push(record),
    onrefused: (error) => refused.push(error.message),
  });
  const together: SharedFrames[] = [];
  const broken = new Set<number>();
  const heard = Array.from({ length: count }, (): string[] => []);
  const lost: [place: number, code: string][] = [];
  const attachments = heard.map((frames, place) => {
    const receive = (frame: string): void => {
      if (broken.has(place)) throw new Error('of another request');
      frames.push(frame);
    };
    const share = (frames: SharedFrames): boolean => {
      together.push(frames);
      return false;
    };
    return line.attach(FILTER, {
      receive,
      share,
      lost: ({ code }: Error & { code: string }) => lost.push([place, code]),
    });
  });
  await vi.advanceTimersByTimeAsync(10);
  for (const frames of heard) expect(frames).toHaveLength(1);
  return {
    attachments,
    broken,
    bus,
    heard,
    line,
    records,
    refused,
    together,
    lost,
    leave: (place: number) => attachments[place]?.detach(),
    /** One more stream, and what it is told. */
    attach: (): string[] => {
      const frames: string[] = [];
      line.attach(FILTER, { receive: (frame) => frames.push(frame), lost: () => {} });
      return frames;
    },
  };
}

const FILTER = JSON.stringify({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] });
const [TOOLS, PROMPTS] = ['tools', 'prompts'].map((list) => JSON.stringify({ kind: `${list}_list_changed` }));
