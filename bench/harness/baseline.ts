import { type Metric, OURS } from './experiment.ts';
import { axisValues, type Outcome, pointOf, quoted } from './outcome.ts';

/** A cost that no time of one machine is part of, and how far it may be above what was committed. */
export interface Check {
  name: string;
  experiment: string;
  metric: string;
  /** Ours to the SDK's, the highest of ours along the axis to the lowest, or ours as it is. */
  kind: 'ratio' | 'spread' | 'own';
  /** 0.1: a tenth above the baseline is still passed. */
  tolerance: number;
}

/**
 * The figure of a check; undefined where it was not measured. Less is better, and the least round counts: other
 * work on the machine makes a round dearer, never cheaper.
 */
export function checked({ experiment, metric: id, kind }: Check, outcomes: Outcome[]): number | undefined {
  const outcome = outcomes.find(({ name }) => name === experiment);
  const metric = outcome?.metrics.find((each) => each.id === id);
  if (outcome === undefined || metric === undefined) return undefined;
  const ours = leastOf(outcome, metric, OURS);
  const theirs = leastOf(outcome, metric, 'TypeScript SDK');
  switch (kind) {
    case 'own':
      return ours[0];
    case 'ratio':
      return ours[0] === undefined || theirs[0] === undefined ? undefined : ours[0] / theirs[0];
    case 'spread':
      return ours.length < 2 ? undefined : Math.max(...ours) / Math.min(...ours);
  }
}

/** The least round of a contender at each value of the axis. */
function leastOf(outcome: Outcome, metric: Metric, name: string): number[] {
  const points = axisValues(outcome).map((x) => pointOf(outcome, name, x));
  return points.flatMap((point) => (point === undefined ? [] : [quoted(point, metric).min]));
}

/** What the lane compares with the committed baselines. */
export const CHECKS: Check[] = [
  { name: 'dense, few ids, to the SDK', experiment: 'dense', metric: 'cpu', kind: 'ratio', tolerance: 0.25 },
  { name: 'every id different, to the SDK', experiment: 'distinct-ids', metric: 'cpu', kind: 'ratio', tolerance: 0.25 },
  { name: '1 % match, to the SDK', experiment: 'one-percent', metric: 'cpu', kind: 'ratio', tolerance: 0.25 },
  {
    name: 'from few streams to many',
    experiment: 'targeted-by-streams',
    metric: 'cpu',
    kind: 'spread',
    tolerance: 0.25,
  },
  { name: 'heap per idle stream, to the SDK', experiment: 'heap', metric: 'heap', kind: 'ratio', tolerance: 0.1 },
  { name: 'wasm of a server, KB of gzip', experiment: 'server-wasm', metric: 'gzip', kind: 'own', tolerance: 0.05 },
];
