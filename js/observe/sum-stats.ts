import type { ListenStats, WriteDelayCount } from '../model/stats/listen.js';

/** Returns the counters of several servers on one bus, whose connections they share, as one. */
export function sumStats([first, ...others]: [ListenStats, ...ListenStats[]]): ListenStats {
  return others.reduce(added, first);
}

function added(sum: ListenStats, next: ListenStats): ListenStats {
  const both: Partial<Record<keyof ListenStats, unknown>> = {};
  for (const name of Object.keys(sum) as (keyof ListenStats)[]) {
    const [left, right] = [sum[name], next[name]];
    if (typeof left === 'number') both[name] = SHARED.has(name) ? left : left + (right as number);
    else if (Array.isArray(left)) both[name] = ranges(left, right as readonly WriteDelayCount[]);
    else both[name] = reasons(left as Counts, right as unknown as Counts);
  }
  return both as ListenStats;
}

function ranges(
  left: readonly WriteDelayCount[],
  right: readonly WriteDelayCount[],
): WriteDelayCount[] {
  return left.map(({ count, le }, index) => ({ le, count: count + (right[index]?.count ?? 0) }));
}

function reasons(left: Counts, right: Counts): Counts {
  const names = Object.keys(left);
  return Object.fromEntries(names.map((name) => [name, (left[name] ?? 0) + (right[name] ?? 0)]));
}

type Counts = Record<string, number>;

/** Counters of the connections to the bus, which each server on it reports. */
const SHARED = new Set<keyof ListenStats>(['away', 'gaps', 'healed', 'outages', 'resyncs']);
