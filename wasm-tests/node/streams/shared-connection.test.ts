import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { WRITE_BUDGET } from '../../../dist/streams/connection/write-budget.js';
import { RequestContext } from '../../../dist/timing/request-context.js';
import { EVENT, URI } from '../bus/small-bus.ts';
import { connected, interceptTasks } from './connected.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('a request that holds the socket and vanishes is replaced within seconds', async () => {
  const { bus, received, connection } = await connected(3);
  const { context, member } = connection.owner ?? {};
  interceptTasks(
    (of) => of === context || of === member?.context,
    () => {},
  );
  bus.fallSilent();
  bus.publish();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets).toHaveLength(2);
  for (const frames of received.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('an opening whose topics the bus has confirmed runs nothing in the request with the socket', async () => {
  const { attach, connection, received } = await connected(2);
  const owner = connection.owner?.context;
  const tasks = vi.fn();
  interceptTasks((of) => of === owner, tasks);
  const frames = attach();
  await vi.advanceTimersByTimeAsync(10);
  expect(frames).toHaveLength(1);
  expect(tasks).not.toHaveBeenCalled();
  attach({ resourceSubscriptions: ['test://another'] });
  await vi.advanceTimersByTimeAsync(10);
  expect(tasks).toHaveBeenCalled();
  expect(received).toHaveLength(2);
});

test('a silent bus is probed at the interval of a stream that opens later', async () => {
  const { attach, bus, probes } = await connected(1);
  bus.fallSilent();
  const sent = () => bus.sockets[0]?.sent ?? 0;
  const before = sent();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent()).toBe(before);
  probes.ms = 200;
  attach();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent()).toBeGreaterThan(before);
});

test('a stream whose request dies without cancelling it is ended by the others', async () => {
  const { attach, bus, lost, received, server } = await connected(3);
  // The timers of a request that has died never fire.
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(() => 1 as never);
  const dead = attach();
  await vi.advanceTimersByTimeAsync(0);
  timers.mockRestore();
  await vi.advanceTimersByTimeAsync(10);
  expect(dead).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(server.stats()).toMatchObject({ open: 4, ended: { aborted: 0 } });
  await vi.advanceTimersByTimeAsync(150_000);
  expect(server.stats()).toMatchObject({ open: 3, ended: { aborted: 1 } });
  expect(lost).toEqual([3]);
  bus.publish();
  await vi.advanceTimersByTimeAsync(100);
  for (const frames of received) expect(frames.at(-1)).toContain(URI);
});

test('a request that was to open the next socket and never did is replaced within seconds', async () => {
  const { bus, received, leave } = await connected(3);
  const asked = vi.spyOn(RequestContext.prototype, 'run').mockImplementation(() => {});
  leave(0);
  asked.mockRestore();
  bus.fallSilent();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets).toHaveLength(1);
  bus.publish();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets).toHaveLength(2);
  for (const frames of received.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a socket that another request could not close is closed by its own request', async () => {
  const { bus, leave } = await connected(1);
  for (const socket of bus.sockets) socket.isForeign = true;
  leave(0);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([false]);
  for (const socket of bus.sockets) socket.isForeign = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a slow request closes its socket once another request has replaced it', async () => {
  const { bus, connection } = await connected(3);
  const { context } = connection.owner ?? {};
  const late: (() => void)[] = [];
  interceptTasks(
    (of) => of === context,
    (task) => late.push(task),
  );
  // Other requests have no access to the socket.
  for (const socket of bus.sockets) socket.isForeign = true;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  for (const socket of bus.sockets) socket.isForeign = false;
  for (const task of late) task();
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
});

test('a request that is cancelled while its socket opens lives until it has closed it', async () => {
  const { bus, leave } = await connected(1, { isEarly: true });
  expect(bus.openings).toHaveLength(1);
  leave(0);
  await vi.advanceTimersByTimeAsync(0);
  await Promise.all(bus.openings);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('a bus that does not confirm within attachMs is asked on another socket', async () => {
  const { bus } = await connected(1, { attachMs: 1_000 });
  bus.fallSilent();
  bus.sockets[0]?.break();
  bus.availability = 'silent';
  await vi.advanceTimersByTimeAsync(1_900);
  const tried = bus.sockets.length;
  expect(tried).toBeGreaterThan(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(bus.sockets.length).toBeGreaterThan(tried);
});

test('a live request keeps the socket', async () => {
  const { bus } = await connected(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bus.sockets).toHaveLength(1);
});

test('a request that leaves hands the socket over at once', async () => {
  const { bus, received, leave } = await connected(3);
  leave(0);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  for (const frames of received.slice(1)) expect(frames.at(-1)).toContain(URI);
});

test('a request that leaves while it runs a task closes its socket', async () => {
  const { bus, connection, leave } = await connected(1);
  connection.owner?.context.run(() => leave(0));
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('requests may leave before they take the socket over', async () => {
  const { bus, received, leave } = await connected(20);
  for (let place = 0; place < 19; place += 1) leave(place);
  bus.publish();
  await vi.advanceTimersByTimeAsync(0);
  expect(received[19]?.at(-1)).toContain(URI);
});

test('a stream that opens while no request holds the socket opens one at once', async () => {
  const { attach, bus, leave } = await connected(2);
  const asked = vi.spyOn(RequestContext.prototype, 'run').mockImplementation(() => {});
  leave(0);
  asked.mockRestore();
  const frames = attach();
  await vi.advanceTimersByTimeAsync(10);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  expect(frames.at(-1)).toContain(URI);
});

test('streams that open in one turn are followed by one request', async () => {
  const { attach, bus } = await connected(1);
  const requests: string[] = [];
  for (const socket of bus.sockets) {
    const { send } = socket;
    const recorded = (frame: string): void => {
      requests.push(frame);
      send(frame);
    };
    Object.assign(socket, { send: recorded });
  }
  const uris = Array.from({ length: 100 }, (_, place) => `note://${place}`);
  const received = uris.map((uri) => attach({ resourceSubscriptions: [uri] }));
  await vi.advanceTimersByTimeAsync(10);
  for (const frames of received) expect(frames).toHaveLength(1);
  expect(requests.map((frame) => JSON.parse(frame))).toEqual([
    expect.objectContaining({
      type: 'follow',
      add: expect.toSatisfy((added: string[]) => added.length === uris.length),
    }),
  ]);
});

test('requests take turns at writing for all streams', async () => {
  budget(500);
  const { bus, received, connection } = await connected(100);
  const first = connection.owner;
  for (let event = 0; event < 11; event += 1) {
    bus.publish();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(bus.sockets).toHaveLength(3);
  expect(connection.owner).not.toBe(first);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  // With the acknowledgment.
  for (const frames of received) expect(frames).toHaveLength(13);
});

test('once all requests have spent their write budget, the oldest streams end', async () => {
  const { attach, publish, holders, lost, server } = await spent(12);
  expect(holders).toHaveLength(3);
  expect(new Set(holders).size).toBe(3);
  // The holder keeps the socket until a fresh request arrives.
  expect(lost).toHaveLength(1);
  expect(server.stats().ended).toMatchObject({ exhausted: 1 });
  await publish();
  expect([holders.length, lost.length]).toEqual([3, 1]);
  const fresh = attach();
  await vi.advanceTimersByTimeAsync(10);
  await publish();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('a fresh request takes over where the holder leaves and all others are spent', async () => {
  const { attach, publish, holders, leave, lost } = await spent(12);
  for (const place of [0, 1, 2]) if (!lost.includes(place)) leave(place);
  const fresh = attach();
  await vi.advanceTimersByTimeAsync(10);
  await publish();
  expect(holders).toHaveLength(4);
  expect(fresh.at(-1)).toContain(URI);
});

test('an acknowledgment does not wait for the end of the turn of the event loop', async () => {
  const { attach, bus, received } = await connected(1);
  bus.delay();
  bus.publish();
  const frames = attach({ resourceSubscriptions: ['note://b'] });
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  // The pending event of the first stream is written with it.
  expect([frames.length, received[0]?.length]).toEqual([1, 2]);
});

test('the events of one turn of the event loop are written together, each subject once', async () => {
  const { bus, received } = await connected(3);
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  for (const event of [EVENT, TOOLS, PROMPTS, EVENT]) bus.publish(event);
  for (const frames of received) expect(frames).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(0);
  const chunks = enqueue.mock.calls
    .map(([chunk]) => chunk)
    .filter((chunk) => chunk instanceof Uint8Array);
  expect(new Set(chunks.slice(0, 3)).size).toBe(1);
  await vi.advanceTimersByTimeAsync(10);
  for (const frames of received) expect(frames).toHaveLength(4);
});

test('a refused write affects no other stream, and is made by the own request of its stream', async () => {
  const { bus, received, refused } = await connected(3);
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  enqueue.mockImplementationOnce(() => {
    throw new Error('of another request');
  });
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  expect(refused).toEqual(['of another request']);
  for (const frames of received) expect(frames.at(-1)).toContain(URI);
});

test('onLog receives one record for an outage of all streams, and one for its end', async () => {
  const { bus, records } = await connected(3);
  bus.sockets[0]?.break();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(bus.sockets).toHaveLength(2);
  expect(records).toEqual([
    { event: 'outage', streams: 3 },
    { event: 'heal', streams: 3, awayMs: expect.any(Number) },
  ]);
});

/**
 * Three streams whose requests have all spent their write budget, and the requests that have held
 * the socket.
 */
async function spent(writes: number) {
  budget(writes);
  const { attach, bus, leave, connection, lost, server } = await connected(3);
  const holders: unknown[] = [];
  const publish = async (): Promise<void> => {
    bus.publish();
    await vi.advanceTimersByTimeAsync(10);
    const member = connection.owner?.member;
    if (member !== holders.at(-1)) holders.push(member);
  };
  for (let event = 0; event < 50 && lost.length === 0; event += 1) await publish();
  return { attach, publish, holders, leave, lost, server };
}

/** Sets how many writes a request makes for all streams. */
function budget(writes: number): void {
  const former = WRITE_BUDGET.writes;
  WRITE_BUDGET.writes = writes;
  onTestFinished(() => {
    WRITE_BUDGET.writes = former;
  });
}

test('settle asks the bus once for all streams, which then have what was lost', async () => {
  const { bus, received, connection } = await connected(3);
  bus.fallSilent();
  bus.publish();
  bus.speakAgain();
  const asked = bus.sockets[0]?.sent;
  const settled = Promise.all([connection.settle(), connection.settle()]);
  await vi.advanceTimersByTimeAsync(10);
  await settled;
  for (const frames of received) expect(frames.slice(1).join()).toContain(URI);
  // The second question follows what the reply to the first one replays.
  expect((bus.sockets[0]?.sent ?? 0) - (asked ?? 0)).toBe(2);
});

test('settle waits for what another request has to write', async () => {
  budget(5);
  const { bus, received, connection } = await connected(3);
  for (const event of [EVENT, TOOLS, PROMPTS]) bus.publish(event);
  const counts: number[] = [];
  void connection.settle().then(() => counts.push(...received.map((frames) => frames.length)));
  await vi.advanceTimersByTimeAsync(1_000);
  for (const frames of counts) expect(frames).toBeGreaterThanOrEqual(4);
  expect(counts).toHaveLength(3);
});

test('settle does not resolve while the bus does not reply', async () => {
  const { bus, connection } = await connected(3);
  bus.fallSilent();
  let isSettled = false;
  void connection.settle().then(() => {
    isSettled = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isSettled).toBe(false);
});

const [TOOLS, PROMPTS] = ['tools', 'prompts'].map((list) =>
  JSON.stringify({ kind: `${list}_list_changed` }),
);
