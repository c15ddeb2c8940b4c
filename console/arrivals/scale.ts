/** The percentiles that are shown: p50, p95 and p99. */
export const SHARES = [0.5, 0.95, 0.99];

/** Returns a percentile of at least one number, which is one of them. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

/** Returns the least of 1, 2, 5, 10, 20, 50 ... that is not below `value`. */
export function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? value;
}
