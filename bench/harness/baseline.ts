import { type Metric, OURS } from './experiment.ts';
import { axisValues, type Outcome, pointOf, quoted } from './outcome.ts';

/**
 * A cost that no time of one machine is part of, and how far it may be above what was committed.
 */
export interface Check {
  name: string;
  experiment: string;
  metric: string;
  /**
   * Ours to that of another contender, the highest of ours along the axis to the lowest, or ours as
   * it is.
   */
  kind: { to: string } | 'spread' | 'own';
  /** 0.1: a tenth above the baseline is still passed. */
  tolerance: number;
}

/**
 * The figure of a check; undefined where it was not measured. Less is better, and the least round
 * counts: other work on the machine makes a round dearer, never cheaper.
 */
export function checked(
  { experiment, metric: id, kind }: Check,
  outcomes: Outcome[],
): number | undefined {
  const outcome = outcomes.find(({ name }) => name === experiment);
  const metric = outcome?.metrics.find((each) => each.id === id);
  if (outcome === undefined || metric === undefined) return undefined;
  const ours = leastOf(outcome, metric, OURS);
  if (kind === 'own') return ours[0];
  if (kind === 'spread') return ours.length < 2 ? undefined : Math.max(...ours) / Math.min(...ours);
  const theirs = leastOf(outcome, metric, kind.to);
  return ours[0] === undefined || theirs[0] === undefined ? undefined : ours[0] / theirs[0];
}

/** The least round of a contender at each value of the axis. */
function leastOf(outcome: Outcome, metric: Metric, name: string): number[] {
  const points = axisValues(outcome).map((x) => pointOf(outcome, name, x));
  return points.flatMap((point) => (point === undefined ? [] : [quoted(point, metric).min]));
}

/**
 * The least that a server can do. Where time is compared it is compared with this and not with the
 * SDK: the SDK's own time differs by half from run to run, and a quarter more of ours would not be
 * seen in that.
 */
const LIMIT = 'enqueue only';
const SDK = 'TypeScript SDK';

/** What the lane compares with the committed baselines. */
export const CHECKS: Check[] = [
  time('dense, few ids', 'dense', { to: LIMIT }),
  time('every id different', 'distinct-ids', { to: LIMIT }),
  time('1 % match', 'one-percent', { to: LIMIT }),
  time('from few streams to many', 'targeted-by-streams', 'spread'),
  {
    name: `heap per idle stream, to ${SDK}`,
    experiment: 'heap',
    metric: 'heap',
    kind: { to: SDK },
    tolerance: 0.1,
  },
  {
    name: 'wasm of a server, KB of gzip',
    experiment: 'server-wasm',
    metric: 'gzip',
    kind: 'own',
    tolerance: 0.05,
  },
];

function time(what: string, experiment: string, kind: Check['kind']): Check {
  const name = typeof kind === 'string' ? what : `${what}, to ${kind.to}`;
  return { name, experiment, metric: 'cpu', kind, tolerance: 0.25 };
}
