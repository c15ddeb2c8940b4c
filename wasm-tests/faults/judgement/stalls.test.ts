import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stalledMs, stallsUntil } from './stalls.ts';

test('a reply after more than a second ends a stall', async () => {
  const delays = [0, 1_100, 0];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const stalls = await stallsUntil(over, async () => {
    await setTimeout(delays.shift());
    if (delays.length === 0) resolve();
  });
  expect(stalls.filter(({ from, to }) => to - from >= 1_100)).not.toEqual([]);
});

test('asking ends when the promise rejects', async () => {
  expect(await stallsUntil(Promise.reject(new Error()), async () => {})).toEqual([]);
});

test('only the part of a stall between two times counts', () => {
  const stalls = [
    { from: 1_000, to: 3_000 },
    { from: 5_000, to: 6_000 },
  ];
  expect(stalledMs(stalls, 0, 9_000)).toBe(3_000);
  expect(stalledMs(stalls, 2_000, 5_500)).toBe(1_500);
  expect(stalledMs(stalls, 3_000, 5_000)).toBe(0);
});
