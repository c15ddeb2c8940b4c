import type { Figure } from './figures.ts';

/** What a promise requires of one experiment. */
export interface Condition {
  what: string;
  experiment: string;
  unit: string;
  bound: 'at least' | 'at most';
  /** `null` for a figure that is only shown beside the others. */
  goal: number | null;
  value: Figure;
}

/** A figure of a promise that has no goal. */
export function shown(what: string, experiment: string, value: Figure, unit = 'x'): Condition {
  return { what, experiment, unit, bound: 'at most', goal: null, value };
}
