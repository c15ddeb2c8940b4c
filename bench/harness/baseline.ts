import { OURS } from './experiment.ts';
import { axisValues, type Outcome, pointOf, quoted } from './outcome.ts';

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

/**
 * The figure of a check in the outcomes of one or several attempts; undefined if none measured it.
 * Less is better. The cheapest round of all attempts counts: other work on the machine makes a
 * round dearer, never cheaper, and a process whose code the runtime compiled worse is dearer in all
 * its rounds.
 */
export function figureOf(
  { experiment, metric: id, kind }: Check,
  outcomes: Outcome[],
): number | undefined {
  const measured = outcomes.filter(({ name }) => name === experiment);
  const ours = leastOf(measured, id, OURS);
  if (kind === 'own') return ours[0];
  if (kind === 'spread') return ours.length < 2 ? undefined : Math.max(...ours) / Math.min(...ours);
  const theirs = leastOf(measured, id, kind.to);
  return ours[0] === undefined || theirs[0] === undefined ? undefined : ours[0] / theirs[0];
}

/** The cheapest round of a contender at each value of the axis. */
function leastOf(outcomes: Outcome[], id: string, name: string): number[] {
  const least = new Map<number, number>();
  for (const outcome of outcomes) {
    const metric = outcome.metrics.find((each) => each.id === id);
    for (const x of axisValues(outcome)) {
      const point = pointOf(outcome, name, x);
      if (metric !== undefined && point !== undefined)
        least.set(x, Math.min(least.get(x) ?? Number.POSITIVE_INFINITY, quoted(point, metric).min));
    }
  }
  return [...least.values()];
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
