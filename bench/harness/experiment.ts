/** One figure of a round. */
export interface Metric {
  /** Its name in a {@link Sample}. */
  id: string;
  title: string;
  unit: string;
  better: 'more' | 'less';
}

/** The figures of one round of one contender, by the id of the metric. */
export type Sample = Record<string, number>;

/** A running contender of a comparison. */
export interface Contender {
  /** Measures once, and rejects unless every frame arrived. */
  round(): Promise<Sample>;
  /** Ends the contender and everything that it started. */
  leave(): Promise<void>;
}

/** A contender of a comparison, and how it starts. */
export interface Entrant {
  name: string;
  /** What its measurement includes, in one sentence. */
  includes: string;
  /** Starts it for one value of the axis (0 without an axis), ready for its first round. */
  enter(x: number): Promise<Contender>;
}

/** One comparison: every entrant at every value of the axis, with interleaved rounds. */
export interface Experiment {
  /** A name without spaces, for `--only`. */
  name: string;
  /** What a round does, with its sizes. */
  title: string;
  /** The promises that it proves: `S1` ... */
  proves: string[];
  /** What varies; without an axis there is one comparison. */
  axis?: { label: string; values: number[] };
  /** The first metric is the figure in the progress line. */
  metrics: [Metric, ...Metric[]];
  /** Ours is first: ratios are ours to theirs. */
  entrants: Entrant[];
  /** Rounds before the counted ones. */
  warmUps: number;
  rounds: number;
}

/** The name of our contender, the numerator of ratios. */
export const OURS = 'mcp-listen';
