import { type AnalyticsDataset, analyticsWriter } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listenRequest, open, TOOLS, watched } from '../serving.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('each write contains what was counted since the last one, so that isolates add up', async () => {
  const { server } = watched();
  const { points, sums } = recorded();
  const write = analyticsWriter(points, server.stats);
  const stream = await open(
    server,
    { resourceSubscriptions: ['note://secret'] },
    { id: '"private"' },
  );
  await stream.message();
  write();
  for (let round = 0; round < 3; round += 1) {
    await server.notify.resourceUpdated('note://secret');
    await stream.message();
    await server.fetch(listenRequest('nonsense'));
    vi.advanceTimersByTime(60_000);
    write();
  }
  const { events, notifications, opened, refused } = server.stats();
  expect([events, notifications, opened, refused.request]).toEqual([3, 3, 1, 3]);
  expect(sums('streams').slice(2)).toEqual([1, 0, 0, 0, 0, 3, 3, 0, server.stats().writeDelayMs]);
  expect(sums('refused')).toEqual([0, 0, 0, 3, 0, 0, 0, 0, 0]);
  expect(
    points.written.filter(({ blobs }) => blobs[0] === 'streams').map(({ doubles }) => doubles[0]),
  ).toEqual([1, 1, 1, 1]);
  expect(JSON.stringify(points.written)).not.toMatch(/secret|private/);
});

test('everyMs bounds how often statistics are read and written', () => {
  const { server } = watched();
  const stats = vi.fn(server.stats);
  const write = analyticsWriter(recorded().points, stats, { everyMs: 1_000 });
  for (let call = 0; call < 100; call += 1) write();
  expect(stats).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1_000);
  write();
  expect(stats).toHaveBeenCalledTimes(2);
});

test('an idle server writes nothing, and each point stays within the limits of a dataset', async () => {
  const { server } = watched();
  const { points } = recorded();
  const write = analyticsWriter(points, server.stats);
  write();
  expect(points.written).toEqual([]);
  const stream = await open(server, TOOLS);
  await stream.message();
  vi.advanceTimersByTime(60_000);
  write();
  expect(points.written.length).toBeGreaterThan(0);
  for (const { blobs, doubles, indexes } of points.written) {
    expect(doubles.length).toBeLessThanOrEqual(20);
    expect([indexes, blobs]).toEqual([
      [blobs[0]],
      [expect.stringMatching(/^(streams|refused|ended|written)$/)],
    ]);
  }
  stream.drop();
});

test('counts that begin at 0 again after a trap of the core are written as they are', () => {
  const { server } = watched();
  const counts = [{ events: 5 }, { events: 2 }].map((some) => ({ ...server.stats(), ...some }));
  const { points, sums } = recorded();
  const write = analyticsWriter(points, () => counts.shift() ?? server.stats());
  write();
  vi.advanceTimersByTime(60_000);
  write();
  expect(sums('streams')).toContain(7);
});

/** A dataset that keeps its points, and the sums of the doubles of each group. */
function recorded() {
  const written: Parameters<AnalyticsDataset['writeDataPoint']>[0][] = [];
  const points = {
    written,
    writeDataPoint: (point: (typeof written)[number]) => void written.push(point),
  };
  const sums = (group: string): number[] =>
    written
      .filter(({ blobs }) => blobs[0] === group)
      .map(({ doubles }) => doubles)
      .reduce((sum, doubles) => doubles.map((double, place) => double + (sum[place] ?? 0)), []);
  return { points, sums };
}
