import type { Metric, Sample } from './experiment.ts';
import { ratios, type Summary, summaryOf } from './statistics.ts';

/** The results of an experiment, as in `results.json`. */
export interface Outcome {
  name: string;
  title: string;
  proves: string[];
  axis?: string;
  metrics: Metric[];
  contenders: Standing[];
  /** When, of which commit and by which command it was measured. */
  run?: Run;
}

/** One run of the benchmarks. All contenders of an experiment are of one run. */
export interface Run {
  /** When the run began, as ISO 8601. */
  at: string;
  /** The commit, with a `+` if measured files differ from it. */
  commit: string;
  command: string;
  /** The load average of the minute before. */
  load: number;
  /** Seconds that the run waited for a lower load. Absent if it did not wait. */
  waited?: number;
}

/** The results of one contender. */
export interface Standing {
  name: string;
  includes: string;
  /** In the order of the axis. */
  points: Point[];
  /** Why it did not finish; absent if it did. */
  failed?: string;
}

/** The results of one contender at one value of the axis. */
export interface Point {
  x: number;
  /** The raw rounds. */
  rounds: Sample[];
}

/** All values of one metric at a point. */
export function values(point: Point, metric: Metric): number[] {
  return point.rounds.map((sample) => sample[metric.id] ?? Number.NaN);
}

/** The median, minimum and maximum of a metric at a point. */
export function quoted(point: Point, metric: Metric): Summary {
  return summaryOf(values(point, metric));
}

/** The ratio of ours to theirs at one value of the axis; undefined if either was not measured. */
export function ratioAt(
  outcome: Outcome,
  metric: Metric,
  x: number,
  names: [ours: string, theirs: string],
) {
  const [ours, theirs] = names.map((name) => pointOf(outcome, name, x));
  if (ours === undefined || theirs === undefined) return undefined;
  return summaryOf(ratios(values(ours, metric), values(theirs, metric)));
}

/** The point of a contender; undefined if it has no rounds. */
export function pointOf(outcome: Outcome, name: string, x: number): Point | undefined {
  const standing = outcome.contenders.find((contender) => contender.name === name);
  return standing?.points.find((point) => point.x === x && point.rounds.length > 0);
}

/** The values of the axis, in ascending order. */
export function axisValues(outcome: Outcome): number[] {
  const all = outcome.contenders.flatMap(({ points }) => points.map(({ x }) => x));
  return [...new Set(all)].sort((one, other) => one - other);
}
