/** The number of values in each range, as the server counts them. */
export type Ranges = readonly { le: number | null; count: number }[];

/**
 * Returns an estimate of a percentile, in milliseconds, between the bounds of its range; undefined
 * without values. What is above the last bound counts as that bound.
 */
export function estimatedPercentile(ranges: Ranges, share: number): number | undefined {
  const total = ranges.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return undefined;
  let before = 0;
  let lower = 0;
  for (const { count, le } of ranges) {
    const upper = le ?? lower;
    if (count > 0 && before + count >= share * total)
      return lower + ((share * total - before) / count) * (upper - lower);
    before += count;
    lower = upper;
  }
  return lower;
}

/**
 * Returns the counts of `next` that `former` does not have yet: all of them if a count has fallen,
 * because a core that was reset counts from 0.
 */
export function increase(next: Ranges, former: Ranges): Ranges {
  const before = next.map((_, index) => former[index]?.count ?? 0);
  const isReset = next.some(({ count }, index) => count < (before[index] ?? 0));
  return next.map(({ count, le }, index) => ({
    le,
    count: isReset ? count : count - (before[index] ?? 0),
  }));
}

/** Returns the sum of histograms with the same ranges; those without ranges count nothing. */
export function sumOf(all: readonly Ranges[]): Ranges {
  const [first = [], ...others] = all.filter((ranges) => ranges.length > 0);
  return first.map(({ count, le }, index) => ({
    le,
    count: others.reduce((sum, ranges) => sum + (ranges[index]?.count ?? 0), count),
  }));
}
