/** The summary of several rounds. */
export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** The summary of at least one number. */
export function summaryOf(numbers: number[]): Summary {
  const sorted = ascending(numbers);
  return {
    median: quantile(sorted, 0.5),
    min: sorted.at(0) ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** The value below which the share `q` of the numbers lies, interpolated between neighbors. */
export function quantile(numbers: number[], q: number): number {
  const sorted = ascending(numbers);
  const place = (sorted.length - 1) * q;
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/**
 * The ratio of ours to theirs, round by round. Rounds are interleaved, so a slow moment of the
 * machine affects both.
 */
export function ratios(ours: number[], theirs: number[]): number[] {
  return ours.slice(0, theirs.length).map((value, round) => value / (theirs[round] ?? Number.NaN));
}

/** The exponent `b` of the `a * x^b` that fits best: 0 is flat, 1 proportional. */
export function exponent(points: { x: number; y: number }[]): number | undefined {
  const logs = points
    .filter(({ x, y }) => x > 0 && y > 0)
    .map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  if (logs.length < 2) return undefined;
  const meanX = mean(logs.map(({ x }) => x));
  const meanY = mean(logs.map(({ y }) => y));
  const covariance = mean(logs.map(({ x, y }) => (x - meanX) * (y - meanY)));
  return covariance / mean(logs.map(({ x }) => (x - meanX) ** 2));
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

function ascending(numbers: number[]): number[] {
  return [...numbers].sort((one, other) => one - other);
}
