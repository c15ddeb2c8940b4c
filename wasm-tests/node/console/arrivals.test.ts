import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Arrival, Arrivals } from '../../../console/arrivals/arrivals.ts';
import { RecentDelays } from '../../../console/arrivals/recent-delays.ts';
import { percentile, roundedUp } from '../../../console/arrivals/scale.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a change is measured for each subscription, from the publish to its first cue', () => {
  const { arrivals, measured } = measuring();
  const publication = arrivals.begin(1_000, ['note://a']);
  arrivals.cue('A', 'note://a', 1_012);
  arrivals.cue('A', 'note://b', 1_013);
  arrivals.cue('B', 'note://a', 1_020);
  arrivals.cue('A', 'note://a', 1_030);
  publication.settle();
  expect(measured).toEqual([
    { publication: 1, subscription: 'A', topic: 'note://a', ms: 12 },
    { publication: 1, subscription: 'B', topic: 'note://a', ms: 20 },
  ]);
});

test('the subjects of a tool call come with its response, and earlier cues count', () => {
  const { arrivals, measured } = measuring();
  const publication = arrivals.begin(0);
  arrivals.cue('A', 'note://a', 5);
  arrivals.cue('A', 'tools', 6);
  expect(measured).toEqual([]);
  publication.settle(['note://a']);
  arrivals.cue('B', 'note://a', 9);
  expect(measured.map(({ subscription, ms }) => [subscription, ms])).toEqual([
    ['A', 5],
    ['B', 9],
  ]);
});

test('a publish is not measured while another one of its subject is on its way', () => {
  const { arrivals, measured } = measuring();
  arrivals.begin(0, ['note://a']);
  arrivals.begin(1, ['note://a']);
  arrivals.begin(2, ['note://b']);
  arrivals.cue('A', 'note://a', 10);
  arrivals.cue('A', 'note://b', 10);
  expect(measured.map(({ topic, ms }) => [topic, ms])).toEqual([
    ['note://a', 10],
    ['note://b', 8],
  ]);
});

test('an order that publishes no change takes no place among the publishes', () => {
  const { arrivals, measured } = measuring();
  arrivals.begin(0, []).settle();
  arrivals.begin(1, ['note://a']);
  arrivals.cue('A', 'note://a', 3);
  expect(measured.map(({ publication, ms }) => [publication, ms])).toEqual([[1, 2]]);
});

test('the recent delays are those of the last ten seconds, in percentiles', () => {
  const delays = new RecentDelays();
  expect(delays.percentiles(0)).toEqual({});
  for (let ms = 1; ms <= 100; ms += 1) delays.add(ms, 1_000);
  expect(delays.percentiles(1_000)).toEqual({ 0.5: 51, 0.95: 96, 0.99: 100 });
  delays.add(7, 6_000);
  expect(delays.percentiles(11_000)).toEqual({ 0.5: 50, 0.95: 95, 0.99: 99 });
  expect(delays.percentiles(11_001)).toEqual({ 0.5: 7, 0.95: 7, 0.99: 7 });
  expect(delays.percentiles(16_001)).toEqual({});
});

test('a publish has arrived when all subscriptions have received it, or after a timeout', async () => {
  const { arrivals } = measuring();
  const all = arrivals.begin(0, ['note://a']);
  const arrived = vi.fn();
  void all.arrived.then(arrived);
  all.settle();
  arrivals.cue('A', 'note://a', 1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(arrived).not.toHaveBeenCalled();
  arrivals.cue('B', 'note://a', 2);
  await vi.advanceTimersByTimeAsync(0);
  expect(arrived).toHaveBeenCalled();
  const lost = arrivals.begin(0, ['note://a']);
  lost.settle();
  await vi.advanceTimersByTimeAsync(2_000);
  await lost.arrived;
});

test('the scale ends at a round number, and a percentile is a measured value', () => {
  expect([0, 1, 1.2, 3, 7, 10, 11, 99, 101].map(roundedUp)).toEqual([
    1, 1, 2, 5, 10, 10, 20, 100, 200,
  ]);
  expect(percentile([9, 1, 5], 0.5)).toBe(5);
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([0.5, 0.95, 0.99].map((share) => percentile(hundred, share))).toEqual([51, 96, 100]);
});

function measuring() {
  const measured: Arrival[] = [];
  const arrivals = new Arrivals(
    () => ['A', 'B'],
    (arrival) => measured.push(arrival),
  );
  return { arrivals, measured };
}
