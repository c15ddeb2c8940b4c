import { type Metric, OURS } from './experiment.ts';
import { axisValues, type Outcome, pointOf, quoted } from './outcome.ts';
import { quantile } from './statistics.ts';

/** A cost that is comparable between machines, and how far it may exceed its baseline. */
export interface Check {
  name: string;
  experiment: string;
  metric: string;
  /**
   * The ratio of our figure to that of another contender, the ratio of our highest figure along the
   * axis to our lowest (`spread`), or our figure (`own`).
   */
  kind: { to: string } | 'spread' | 'own';
  /** A share of the baseline: 0.1 passes figures up to a tenth above it. */
  tolerance: number;
}

/** The figure of a check: the median of several attempts; undefined if it was not measured. */
export function figureOf(check: Check, attempts: Outcome[][]): number | undefined {
  const figures = attempts.flatMap((outcomes) => checked(check, outcomes) ?? []);
  return figures.length === 0 ? undefined : quantile(figures, 0.5);
}

/**
 * The figure of a check in one attempt; undefined if it was not measured. Less is better. The
 * cheapest round counts, because other work on the machine makes a round dearer, never cheaper.
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

/** The cheapest round of a contender at each value of the axis. */
function leastOf(outcome: Outcome, metric: Metric, name: string): number[] {
  const points = axisValues(outcome).map((x) => pointOf(outcome, name, x));
  return points.flatMap((point) => (point === undefined ? [] : [quoted(point, metric).min]));
}

/**
 * The least that a server can do. Checks of time compare with this and not with the SDK: the SDK's
 * time varies by half from run to run, which would hide a quarter more of ours.
 */
const LIMIT = 'enqueue only';
const SDK = 'TypeScript SDK';

/** The checks of the lane `bench`. */
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
