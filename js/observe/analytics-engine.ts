import { expectAmounts } from '../model/amount.js';
import type { EndReason, ListenStats, RefusalKind } from '../model/stats/listen.js';

/**
 * The part of a dataset of Workers Analytics Engine that is used here: pass a binding.
 *
 * @internal
 */
export interface AnalyticsDataset {
  /** Writes one data point. */
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void;
}

/** Options of {@link analyticsWriter}. */
export interface AnalyticsOptions {
  /**
   * Minimum number of milliseconds between two writes. 0 writes on every call.
   *
   * @default 60_000
   */
  everyMs?: number;
}

/**
 * Returns a function that writes the counters of a server to Workers Analytics Engine, where they
 * can be summed over all isolates. Call it on every request: it writes the counts since the last
 * write, once `everyMs` has passed. A data point has the name of its group as index and first blob,
 * and its numbers as doubles. Later versions only append to their order.
 *
 * @example
 * ```ts
 * const write = analyticsWriter(env.ANALYTICS, server.stats, { everyMs: 60_000 });
 * write(); // at every request
 * ```
 */
export function analyticsWriter(
  dataset: AnalyticsDataset,
  stats: () => ListenStats,
  { everyMs = 60_000 }: AnalyticsOptions = {},
): () => void {
  expectAmounts('', { everyMs });
  let previous: Groups | undefined;
  let next = 0;
  return () => {
    const now = Date.now();
    if (now < next) return;
    next = now + everyMs;
    const groups = groupsOf(stats());
    for (const [group, counts] of Object.entries(groups)) {
      const before = previous?.[group as keyof Groups] ?? [];
      const doubles = counts.map((count, index) => sinceThen(count, before[index]));
      // `open` and `away` are gauges: write the current value, not the difference.
      if (group === 'streams') doubles.splice(0, GAUGES, ...counts.slice(0, GAUGES));
      if (doubles.some((double) => double !== 0))
        dataset.writeDataPoint({ indexes: [group], blobs: [group], doubles });
    }
    previous = groups;
  };
}

/** What was counted since a count, which begins at 0 again after a trap of the core. */
function sinceThen(count: number, before = 0): number {
  return count < before ? count : count - before;
}

type Groups = Record<'streams' | 'refused' | 'ended' | 'written', number[]>;

function groupsOf(stats: ListenStats): Groups {
  const {
    away,
    collapsed,
    events,
    gaps,
    healed,
    notifications,
    open,
    opened,
    outages,
    resyncs,
    writeDelayMs,
  } = stats;
  return {
    streams: [
      open,
      away,
      opened,
      outages,
      healed,
      gaps,
      resyncs,
      events,
      notifications,
      collapsed,
      writeDelayMs,
    ],
    refused: inOrder(REFUSED, stats.refused),
    ended: inOrder(ENDED, stats.ended),
    written: stats.written.map(({ count }) => count),
  };
}

function inOrder<Name extends string>(
  columns: Record<Name, number>,
  counts: Readonly<Record<Name, number>>,
): number[] {
  const doubles: number[] = [];
  for (const name of Object.keys(columns) as Name[]) doubles[columns[name]] = counts[name];
  return doubles;
}

/** Number of gauges at the start of the doubles of `streams`. */
const GAUGES = 2;
// Columns are identified by position: append new ones.
const REFUSED: Record<RefusalKind, number> = {
  ...{ http: 0, origin: 1, size: 2, request: 3, unauthorized: 4, forbidden: 5 },
  ...{ full: 6, unavailable: 7, closing: 8 },
};
const ENDED: Record<EndReason, number> = {
  ...{ closed: 0, left: 1, stalled: 2, rotated: 3, drained: 4, expired: 5, aborted: 6 },
  ...{ denied: 7, outdated: 8, exhausted: 9, lost: 10, trapped: 11 },
};
