import type { Metric, Sample } from './experiment.ts';
import { ratios, type Summary, summaryOf } from './statistics.ts';

/** What an experiment yielded, as `results.json` holds it. */
export interface Outcome {
  name: string;
  title: string;
  proves: string[];
  axis?: string;
  metrics: Metric[];
  contenders: Standing[];
  /** When it was measured, and of what. */
  run?: Run;
}

/** All contenders of an experiment are measured in one run; experiments may be of several. */
export interface Run {
  /** When it began. */
  at: string;
  /** The commit, with a `+` where files differ from it. */
  commit: string;
  /** What was asked for. */
  command: string;
  /** Processes that wanted the processor, as the system's average over the minute before. */
  load: number;
}

/** What one contender yielded. */
export interface Standing {
  name: string;
  includes: string;
  /** In the order of the axis. */
  points: Point[];
  /** Why it was not measured to the end, if it was not. */
  failed?: string;
}

/** What one contender yielded at one value of the axis. */
export interface Point {
  x: number;
  /** The raw rounds. */
  rounds: Sample[];
}

/** Adds the rounds of an outcome to those of the same experiment that are there already. */
export function pool(outcomes: Outcome[], further: Outcome): void {
  const known = outcomes.find(({ name }) => name === further.name);
  if (known === undefined) {
    outcomes.push(further);
    return;
  }
  for (const { name, points } of further.contenders) {
    for (const { x, rounds } of points) pointOf(known, name, x)?.rounds.push(...rounds);
  }
}

/** All values of one metric at a point. */
export function values(point: Point, metric: Metric): number[] {
  return point.rounds.map((sample) => sample[metric.id] ?? Number.NaN);
}

/** What is quoted of a point. */
export function quoted(point: Point, metric: Metric): Summary {
  return summaryOf(values(point, metric));
}

/** Ours to theirs at one value of the axis; undefined where either was not measured. */
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

/** The point of a contender, if it was measured. */
export function pointOf(outcome: Outcome, name: string, x: number): Point | undefined {
  const standing = outcome.contenders.find((contender) => contender.name === name);
  return standing?.points.find((point) => point.x === x && point.rounds.length > 0);
}

/** The values of the axis at which anybody was measured. */
export function axisValues(outcome: Outcome): number[] {
  const all = outcome.contenders.flatMap(({ points }) => points.map(({ x }) => x));
  return [...new Set(all)].sort((one, other) => one - other);
}
