import type { ListenStats, LoggedEvent, Snapshot } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { Reasons } from '../../../console/operate/charts/reasons.ts';
import { StatsHistory } from '../../../console/operate/history.ts';
import { estimatedPercentile, increase, sumOf } from '../../../console/operate/percentile.ts';
import { serving } from '../serving.ts';

describe('a percentile', () => {
  const ranges = [
    { le: 10, count: 10 },
    { le: 100, count: 0 },
    { le: 1_000, count: 10 },
    { le: null, count: 0 },
  ];

  test.each([
    [0.25, 5],
    [0.5, 10],
    [0.75, 550],
    [0.95, 910],
    [1, 1_000],
  ])('of %d is between the bounds of its range', (share, ms) => {
    expect(estimatedPercentile(ranges, share)).toBeCloseTo(ms, 6);
  });

  test('above the last bound is that bound, and without values there is none', () => {
    const slow = [
      { le: 10, count: 1 },
      { le: null, count: 3 },
    ];
    expect(estimatedPercentile(slow, 0.5)).toBe(10);
    expect(estimatedPercentile(slow, 0.99)).toBe(10);
    expect(estimatedPercentile([{ le: 10, count: 0 }], 0.5)).toBeUndefined();
    expect(estimatedPercentile([], 0.5)).toBeUndefined();
  });
});

describe('a histogram', () => {
  const of = (...counts: number[]) => counts.map((count, index) => ({ le: 10 ** index, count }));

  test('increases by what it did not have yet', () => {
    expect(increase(of(3, 2, 7), of(1, 2, 0))).toEqual(of(2, 0, 7));
  });

  test('of a core that was reset increases by all that it has', () => {
    expect(increase(of(3, 2, 0), of(1, 9, 0))).toEqual(of(3, 2, 0));
  });

  test('is summed range by range', () => {
    expect(sumOf([of(1, 2), of(3, 4), of(5, 6)])).toEqual(of(9, 12));
    expect(sumOf([])).toEqual([]);
    // A second without isolates has no ranges.
    expect(sumOf([[], of(1, 2), [], of(3, 4)])).toEqual(of(4, 6));
  });
});

describe('the history', () => {
  test('counts what has changed in each isolate, and not what was before it was first seen', () => {
    const { seconds, totals } = historyOf(
      { position: 100, a: { events: 50, notifications: 40, collapsed: 10 } },
      { position: 103, a: { events: 54, notifications: 43, collapsed: 11 }, b: { events: 7 } },
      { position: 104, a: { events: 54, notifications: 43, collapsed: 11 }, b: { events: 9 } },
    );
    const numbers = { published: 0, events: 0, written: 0, collapsed: 0 };
    expect(seconds).toMatchObject([
      { at: 0, ...numbers },
      { at: 1, ...numbers, published: 3, events: 4, written: 3, collapsed: 1 },
      { at: 2, ...numbers, published: 1, events: 2 },
    ]);
    expect(totals).toMatchObject({ written: 3, collapsed: 1 });
  });

  test('counts an isolate whose core was reset from 0, with its delays', () => {
    const { seconds, totals } = historyOf(
      { a: { events: 50, notifications: 40, written: delays(30, 10) } },
      { a: { events: 3, notifications: 2, written: delays(0, 2) } },
    );
    expect(seconds[1]).toMatchObject({ events: 3, written: 2 });
    expect(seconds[1]?.deliveries.map(({ count }) => count)).toEqual([0, 2, 0, 0, 0, 0, 0]);
    expect(totals.written).toBe(2);
  });

  test('knows an isolate again that was missing from a snapshot', () => {
    const { seconds } = historyOf({ a: { events: 5 } }, { b: {} }, { a: { events: 8 } });
    expect(seconds.map(({ events }) => events)).toEqual([0, 0, 3]);
  });

  test('sums ends and refusals by their reason, over all isolates', () => {
    const { seconds, totals } = historyOf(
      { a: { ended: ends({ left: 4 }) }, b: {} },
      { a: { ended: ends({ left: 6, drained: 1 }) }, b: { ended: ends({ left: 1 }) } },
      { a: { ended: ends({ left: 6, drained: 1 }), refused: { ...ZERO.refused, full: 2 } } },
    );
    expect(seconds.map(({ ended }) => ended)).toEqual([{}, { left: 3, drained: 1 }, {}]);
    expect(seconds.map(({ refused }) => refused)).toEqual([{}, {}, { full: 2 }]);
    expect(totals).toMatchObject({ ended: 4, refused: 2 });
  });

  test('counts what changed during a pause in its totals, and in no second', () => {
    const history = new StatsHistory();
    const second = (at: number, notifications: number) =>
      history.add(snapshotOf(at, { a: { notifications, written: delays(0, notifications) } }));
    second(0, 0);
    second(1, 5);
    second(61, 905);
    second(62, 907);
    expect(history.seconds.map(({ written }) => written)).toEqual([0, 5, 0, 2]);
    expect(history.totals.written).toBe(907);
    expect(history.percentiles('deliveries', 0.5).at(-1)).toBe(12.5);
    second(330, 1_000);
    expect(history.seconds.map(({ at }) => at)).toEqual([61, 62, 330]);
  });

  test('counts the events of the log that the page has not received', () => {
    const history = new StatsHistory();
    const missed = [[7, 8], [11], [], [12], [1, 2]].map((positions, second) => {
      history.add(snapshotOf(second, { log: positions.map(logged) }));
      return history.totals.missed;
    });
    expect(missed).toEqual([0, 2, 2, 2, 2]);
  });

  test('keeps five minutes, and its percentiles are those of ten seconds', () => {
    const history = new StatsHistory();
    const delivered = (second: number) => (second < 1 ? delays(0, 0) : delays(0, 10));
    for (let second = 0; second < 20; second += 1)
      history.add(snapshotOf(second, { a: { written: delivered(second) } }));
    const medians = history.percentiles('deliveries', 0.5);
    expect(medians).toEqual([null, ...Array(10).fill(12.5), ...Array(9).fill(null)]);
    expect(history.percentiles('acknowledgments', 0.5)).toEqual(Array(20).fill(null));
    for (let second = 20; second < 310; second += 1) history.add(snapshotOf(second, {}));
    expect(history.seconds).toHaveLength(300);
    expect([history.seconds[0]?.at, history.seconds.at(-1)?.at]).toEqual([10, 309]);
  });
});

test('a history has the percentiles of what arrived at the page, also right after a pause', () => {
  const history = new StatsHistory();
  history.add(snapshotOf(0, {}));
  history.add(snapshotOf(1, {}), { 0.5: 4, 0.95: 9, 0.99: 30 });
  history.add(snapshotOf(61, {}), { 0.5: 5, 0.95: 6, 0.99: 7 });
  expect([0.5, 0.95, 0.99].map((share) => history.percentiles('arrivals', share))).toEqual([
    [null, 4, 5],
    [null, 9, 6],
    [null, 30, 7],
  ]);
});

describe('the reasons of a chart', () => {
  test('keep their colors, in the order in which they first appeared', () => {
    const reasons = new Reasons();
    expect(reasons.lines([{}, { left: 1 }])).toEqual([{ label: 'left', values: [0, 1] }]);
    expect(reasons.lines([{ drained: 2 }, { drained: 1, left: 3 }])).toEqual([
      { label: 'left', values: [0, 3] },
      { label: 'drained', values: [2, 1] },
    ]);
    expect(reasons.lines([{}]).map(({ label }) => label)).toEqual(['left', 'drained']);
  });

  test('from the sixth on share a color where there are more than six', () => {
    const reasons = new Reasons();
    const six = { a: 1, b: 1, c: 1, d: 1, e: 1, f: 4 };
    expect(reasons.lines([six]).map(({ label }) => label)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    const lines = reasons.lines([six, { g: 3, f: 2, a: 1 }]);
    expect(lines.map(({ label }) => label)).toEqual(['a', 'b', 'c', 'd', 'e', 'others']);
    expect(lines.at(-1)?.values).toEqual([4, 5]);
  });
});

/** What a snapshot of a test says of the bus, its log, and the isolates `a` and `b`. */
interface Moment {
  position?: number;
  log?: LoggedEvent[];
  a?: Partial<ListenStats>;
  b?: Partial<ListenStats>;
}

/** The history of snapshots, one a second. */
function historyOf(...moments: Moment[]): StatsHistory {
  const history = new StatsHistory();
  moments.forEach((moment, second) => void history.add(snapshotOf(second, moment)));
  return history;
}

function snapshotOf(second: number, { log = [], position, ...isolates }: Moment): Snapshot {
  const bus = { attached: 0, sockets: 0, position: position ?? 0, sessions: 0, dropped: 0 };
  return {
    at: second * 1_000,
    isolate: 'a',
    streams: ZERO,
    ...(position !== undefined && { bus: { ...bus, shards: [] } }),
    objects: [],
    isolates: Object.entries(isolates).map(([isolate, streams]) => ({
      isolate,
      streams: { ...ZERO, ...streams },
    })),
    topics: [],
    log,
  };
}

function logged(position: number): LoggedEvent {
  return { position, at: 0, event: { kind: 'tools_list_changed' } };
}

/** A histogram with these counts of at most 5 ms, and of at most 20 ms. */
function delays(fast: number, slow: number): ListenStats['written'] {
  const counts = [fast, slow];
  return ZERO.written.map(({ le }, index) => ({ le, count: counts[index] ?? 0 }));
}

function ends(counts: Partial<ListenStats['ended']>): ListenStats['ended'] {
  return { ...ZERO.ended, ...counts };
}

/** The counters of a server without streams, as the page receives them. */
const ZERO = JSON.parse(JSON.stringify(serving().stats())) as ListenStats;
