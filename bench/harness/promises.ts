import { type Metric, OURS } from './experiment.ts';
import { axisValues, type Outcome, pointOf, quoted, ratioAt } from './outcome.ts';
import type { Summary } from './statistics.ts';

/** Whether a promise holds, and by which figures. */
export interface Verdict {
  holds: boolean;
  /** The first condition's. */
  value: number | null;
  unit: string;
  goal: number;
  conditions: ConditionVerdict[];
  /** The experiments with the raw rounds. */
  from: string[];
}

/** Whether one condition of a promise holds. */
export interface ConditionVerdict {
  what: string;
  holds: boolean;
  /** Median of the rounds; null where it was not measured. */
  value: number | null;
  min: number | null;
  max: number | null;
  unit: string;
  bound: 'at least' | 'at most';
  goal: number;
}

/** The verdicts on the promises for which there is evidence. */
export function verdicts(outcomes: Outcome[]): Record<string, Verdict> {
  const proven = Object.entries(PROMISES).flatMap(([id, conditions]): [string, Verdict][] => {
    const from = outcomes.filter(({ proves }) => proves.includes(id)).map(({ name }) => name);
    return from.length > 0 ? [[id, verdict(conditions, outcomes, from)]] : [];
  });
  return Object.fromEntries(proven);
}

interface Condition {
  what: string;
  experiment: string;
  unit: string;
  bound: 'at least' | 'at most';
  goal: number;
  value: (outcome: Outcome) => Summary | undefined;
}

function verdict(conditions: Condition[], outcomes: Outcome[], from: string[]): Verdict {
  const judged = conditions.map((condition) => judge(condition, outcomes));
  const [first] = judged;
  const holds = judged.every((condition) => condition.holds);
  return {
    holds,
    value: first?.value ?? null,
    unit: first?.unit ?? '',
    goal: first?.goal ?? 0,
    conditions: judged,
    from,
  };
}

function judge({ experiment, value, what, unit, bound, goal }: Condition, outcomes: Outcome[]): ConditionVerdict {
  const outcome = outcomes.find(({ name }) => name === experiment);
  const measured = outcome === undefined ? undefined : value(outcome);
  if (measured === undefined) return { what, holds: false, value: null, min: null, max: null, unit, bound, goal };
  const { median, min, max } = measured;
  const holds = bound === 'at least' ? median >= goal : median <= goal;
  return { what, holds, value: short(median), min: short(min), max: short(max), unit, bound, goal };
}

/** Ours to theirs by the first metric, at the one point of a comparison. */
function ratioTo(theirs: string): Condition['value'] {
  return (outcome) => ratioAt(outcome, firstMetric(outcome), 0, [OURS, theirs]);
}

/** Theirs to ours: how many times as fast we are where the metric is a time. */
function speedUpOver(theirs: string): Condition['value'] {
  return (outcome) => ratioAt(outcome, firstMetric(outcome), 0, [theirs, OURS]);
}

/** The highest of our medians along the axis to the lowest. */
function spread(outcome: Outcome): Summary | undefined {
  const metric = firstMetric(outcome);
  const points = axisValues(outcome).map((x) => pointOf(outcome, OURS, x));
  const medians = points.flatMap((point) => (point === undefined ? [] : [quoted(point, metric).median]));
  // One value alone shows nothing, and a curve with a hole hides something.
  if (medians.length < 2 || medians.length < points.length) return undefined;
  const ratio = Math.max(...medians) / Math.min(...medians);
  return { median: ratio, min: ratio, max: ratio };
}

/** Our own figure. */
function own(outcome: Outcome): Summary | undefined {
  const point = pointOf(outcome, OURS, 0);
  return point === undefined ? undefined : quoted(point, firstMetric(outcome));
}

/** The highest median of all contenders, where all were measured to the end. */
function highest(outcome: Outcome): Summary | undefined {
  const metric = firstMetric(outcome);
  const points = outcome.contenders.flatMap(({ name }) => pointOf(outcome, name, 0) ?? []);
  if (points.length < outcome.contenders.length || outcome.contenders.some(({ failed }) => failed !== undefined))
    return undefined;
  const summaries = points.map((point) => quoted(point, metric));
  return summaries.reduce((one, other) => (other.median > one.median ? other : one));
}

function firstMetric({ metrics }: Outcome): Metric {
  const [metric] = metrics;
  if (metric === undefined) throw new Error('an experiment measures something');
  return metric;
}

function short(value: number): number {
  return Number(value.toPrecision(4));
}

const AT_LEAST = { unit: 'x', bound: 'at least' } as const;
const AT_MOST = { unit: 'x', bound: 'at most' } as const;
const SDK = 'TypeScript SDK';

const PROMISES: Record<string, Condition[]> = {
  S1: [
    { ...AT_LEAST, what: 'dense fan-out, of the SDK', experiment: 'dense', goal: 9, value: ratioTo(SDK) },
    { ...AT_LEAST, what: 'of the enqueue-only limit', experiment: 'dense', goal: 0.75, value: ratioTo('enqueue only') },
  ],
  S2: [
    { ...AT_LEAST, what: 'every id different, of the SDK', experiment: 'distinct-ids', goal: 3, value: ratioTo(SDK) },
  ],
  S3: [
    {
      ...AT_LEAST,
      what: '1 % match, times as fast as the SDK',
      experiment: 'one-percent',
      goal: 25,
      value: speedUpOver(SDK),
    },
    {
      ...AT_MOST,
      what: 'slowest to fastest number of streams',
      experiment: 'targeted-by-streams',
      goal: 1.3,
      value: spread,
    },
  ],
  S4: [{ ...AT_MOST, what: 'heap per idle stream, of the SDK', experiment: 'heap', goal: 0.5, value: ratioTo(SDK) }],
  S5: [
    {
      ...AT_LEAST,
      what: 'frames on workerd, of the SDK in one isolate',
      experiment: 'workerd',
      goal: 1,
      value: ratioTo(SDK),
    },
    { ...AT_LEAST, what: 'of the relay', experiment: 'workerd', goal: 1.3, value: ratioTo('WebSocket relay') },
  ],
  S6: [
    {
      ...AT_MOST,
      what: 'p99 to the last stream, of the relay',
      experiment: 'last-stream',
      goal: 0.8,
      value: ratioTo('WebSocket relay'),
    },
  ],
  S7: [
    { ...AT_MOST, unit: 'KB', what: 'wasm of a server, gzip', experiment: 'server-wasm', goal: 60, value: own },
    { ...AT_MOST, unit: 'KB', what: 'wasm of a client, gzip', experiment: 'client-wasm', goal: 35, value: own },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'instantiate, at the slowest host',
      experiment: 'instantiate',
      goal: 5,
      value: highest,
    },
  ],
};
