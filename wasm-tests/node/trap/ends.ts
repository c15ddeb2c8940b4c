import { expect, vi } from 'vitest';
import type { EventReader } from '../../host/events.ts';

/** Fakes the clock and its timers. */
export function useVirtualClock(): void {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
}

/** Reads a stream to its end, which has no result. Returns when it ended. */
export async function endOf(reader: EventReader): Promise<number> {
  for (let message = await reader.next(); message !== undefined; message = await reader.next())
    expect(message.method).toBe('notifications/events/heartbeat');
  return performance.now();
}

/** Lets two seconds of the virtual clock pass, and expects ends over more than one of them. */
export async function expectSpread(ends: Promise<number>[]): Promise<void> {
  const ended = Promise.all(ends);
  await vi.advanceTimersByTimeAsync(2_100);
  const times = await ended;
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1_000);
}
