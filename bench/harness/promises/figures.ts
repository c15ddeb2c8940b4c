import { type Metric, OURS } from '../experiment.ts';
import { axisValues, type Outcome, pointOf, quoted, values } from '../outcome.ts';
import { ratios, type Summary, summaryOf } from '../statistics.ts';

/** Takes a figure from an outcome; undefined if it was not measured. */
export type Figure = (outcome: Outcome) => Summary | undefined;

/** A share of a third contender's figure that is added to the other contender's figure. */
export interface Addend {
  name: string;
  share: number;
}

/**
 * The ratio of ours to theirs, round by round, of a comparison without an axis. `metric` defaults
 * to the first one.
 */
export function ratioTo(theirs: string, metric?: string, plus?: Addend, ours = OURS): Figure {
  return (outcome) => {
    const [one, other] = [ours, theirs].map((name) => rounds(outcome, name, metric));
    const added = plus && rounds(outcome, plus.name, metric);
    if (one === undefined || other === undefined || (plus !== undefined && added === undefined))
      return undefined;
    const share = plus?.share ?? 0;
    return summaryOf(
      ratios(
        one,
        other.map((value, round) => value + share * (added?.[round] ?? 0)),
      ),
    );
  };
}

/** The ratio of another contender's figure to that of a third one. */
export function ratioOf(one: string, other: string, metric?: string): Figure {
  return ratioTo(other, metric, undefined, one);
}

/** The ratio of their processor time to ours, round by round: how many times as cheap we are. */
export function cheaperThan(theirs: string, ours = OURS): Figure {
  return ratioTo(ours, 'cpu', undefined, theirs);
}

/** A contender along an axis, and one whose medians are subtracted from its own first. */
interface Spread {
  metric: string;
  /** Default: ours. */
  of?: string;
  beyond?: string;
}

/** The ratio of the highest median of a contender along the axis to its lowest. */
export function spread({ metric: id, of = OURS, beyond }: Spread): Figure {
  return (outcome) => {
    const xs = axisValues(outcome);
    const medians = xs.flatMap((x) => {
      const ours = medianAt(outcome, of, x, id);
      const theirs = beyond === undefined ? 0 : medianAt(outcome, beyond, x, id);
      return ours === undefined || theirs === undefined ? [] : [ours - theirs];
    });
    // A spread needs two values, and a curve without a gap.
    if (medians.length < 2 || medians.length < xs.length) return undefined;
    const ratio = Math.max(...medians) / Math.min(...medians);
    return { median: ratio, min: ratio, max: ratio };
  };
}

/** Our own figure of the first metric. */
export function own(outcome: Outcome): Summary | undefined {
  return ownOf(firstMetric(outcome).id)(outcome);
}

/** Our own figure of a metric. */
export function ownOf(id: string): Figure {
  return (outcome) => {
    const [point, metric] = [pointOf(outcome, OURS, 0), metricOf(outcome, id)];
    return point && metric && quoted(point, metric);
  };
}

/** The highest median of all contenders, if all of them finished. */
export function highest(outcome: Outcome): Summary | undefined {
  const metric = firstMetric(outcome);
  const points = outcome.contenders.flatMap(({ name }) => pointOf(outcome, name, 0) ?? []);
  if (
    points.length < outcome.contenders.length ||
    outcome.contenders.some(({ failed }) => failed !== undefined)
  )
    return undefined;
  const summaries = points.map((point) => quoted(point, metric));
  return summaries.reduce((one, other) => (other.median > one.median ? other : one));
}

function rounds(outcome: Outcome, name: string, id?: string): number[] | undefined {
  const [point, metric] = [pointOf(outcome, name, 0), metricOf(outcome, id)];
  return point && metric && values(point, metric);
}

function medianAt(outcome: Outcome, name: string, x: number, id: string): number | undefined {
  const [point, metric] = [pointOf(outcome, name, x), metricOf(outcome, id)];
  return point && metric && quoted(point, metric).median;
}

function metricOf(outcome: Outcome, id?: string): Metric | undefined {
  return id === undefined
    ? firstMetric(outcome)
    : outcome.metrics.find((metric) => metric.id === id);
}

function firstMetric({ metrics }: Outcome): Metric {
  const [metric] = metrics;
  if (metric === undefined) throw new Error('an experiment measures something');
  return metric;
}
