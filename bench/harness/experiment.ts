/** One figure that a round yields. */
export interface Metric {
  /** Its name in a {@link Sample}. */
  id: string;
  title: string;
  unit: string;
  better: 'more' | 'less';
}

/** What one round of one contender yielded: a number for each metric. */
export type Sample = Record<string, number>;

/** One side of a comparison, running. */
export interface Contender {
  /** Measures once, and rejects unless every frame arrived. */
  round(): Promise<Sample>;
  /** Ends it and all it started. */
  leave(): Promise<void>;
}

/** One side of a comparison, and how it is started. */
export interface Entrant {
  name: string;
  /** What its measurement includes, in one sentence. */
  includes: string;
  /** Starts it for one value of the axis (0 where there is no axis), ready for its first round. */
  enter(x: number): Promise<Contender>;
}

/**
 * One comparison: every entrant at every value of the axis, its rounds interleaved with those of
 * the others.
 */
export interface Experiment {
  /** One word; `--only` takes it. */
  name: string;
  /** What is done, with its sizes. */
  title: string;
  /** Promises of which it is evidence: `S1` ... */
  proves: string[];
  /** What is varied; without it there is one comparison. */
  axis?: { label: string; values: number[] };
  /** The first one is the figure that the table shows. */
  metrics: [Metric, ...Metric[]];
  /** Ours stands first: ratios are ours to theirs. */
  entrants: Entrant[];
  /** Rounds that are not counted. */
  warmUps: number;
  rounds: number;
}

/** The name that ratios are taken for. */
export const OURS = 'mcp-listen';
