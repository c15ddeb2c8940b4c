import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Fanout } from '../../../dist/wasm/server/bindings.js';
import { poison } from '../../host/poison.ts';
import { type SmallBus, URI } from '../bus/small-bus.ts';
import { connected, interceptTasks } from '../streams/connected.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A trap in a call of the bus, whose core is in the same instance. */
function trap(bus: SmallBus): void {
  poison();
  expect(() => bus.publish()).toThrow(expect.objectContaining({ code: 'core-trapped' }));
}

test('the streams of a shared connection end after a trap, and no late frame reaches the new core', async () => {
  const { bus, connection, lost, refused } = await connected(2);
  trap(bus);
  expect(connection.isCurrent).toBe(false);
  bus.sockets[0]?.receive('late');
  await vi.advanceTimersByTimeAsync(2_100);
  expect(refused).toEqual([]);
  expect(lost).toHaveLength(2);
  expect(bus.sockets.map(({ isClosed }) => isClosed)).toEqual([true]);
});

test('a shared connection without streams outlives a trap, with its timeouts', async () => {
  const { attach, bus, connection, leave } = await connected(1, { attachMs: 1_000 });
  leave(0);
  trap(bus);
  expect(connection.isCurrent).toBe(true);
  const frames = attach();
  await vi.advanceTimersByTimeAsync(10);
  bus.publish();
  await vi.advanceTimersByTimeAsync(10);
  expect(frames.at(-1)).toContain(URI);
  bus.sockets.at(-1)?.break();
  bus.availability = 'silent';
  await vi.advanceTimersByTimeAsync(1_900);
  const tried = bus.sockets.length;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(bus.sockets.length).toBeGreaterThan(tried);
});

test('a late proof of a request does not count for the owner of the socket after a trap', async () => {
  const { attach, bus, connection, leave } = await connected(2);
  const first = connection.owner?.context;
  const late: (() => void)[] = [];
  interceptTasks(
    (of) => of === first,
    (task) => late.push(task),
  );
  const prove = vi.spyOn(Fanout.prototype, 'handleProof');
  while (late.length === 0) await vi.advanceTimersByTimeAsync(100);
  leave(0);
  leave(1);
  trap(bus);
  attach();
  await vi.advanceTimersByTimeAsync(10);
  for (const task of late) task();
  expect(prove).not.toHaveBeenCalled();
});
