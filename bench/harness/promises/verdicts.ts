import type { Outcome } from '../outcome.ts';
import type { Condition } from './condition.ts';
import { PROMISES } from './goals.ts';

/** Whether a promise holds, and the figures that decide it. */
export interface Verdict {
  holds: boolean;
  /** The figure of the first condition; null if it was not measured. */
  value: number | null;
  unit: string;
  goal: number;
  conditions: ConditionVerdict[];
  /** The experiments that prove it. */
  from: string[];
}

/** Whether one condition of a promise holds. */
export interface ConditionVerdict {
  what: string;
  holds: boolean;
  /** Median of the rounds; null if it was not measured. */
  value: number | null;
  min: number | null;
  max: number | null;
  unit: string;
  bound: 'at least' | 'at most';
  /** `null` if the figure is only shown; it then holds whatever it is. */
  goal: number | null;
}

/** The verdicts on the promises that at least one of these experiments proves. */
export function verdicts(outcomes: Outcome[]): Record<string, Verdict> {
  const proven = Object.entries(PROMISES).flatMap(([id, conditions]): [string, Verdict][] => {
    const from = outcomes.filter(({ proves }) => proves.includes(id)).map(({ name }) => name);
    return from.length > 0 ? [[id, verdict(conditions, outcomes, from)]] : [];
  });
  return Object.fromEntries(proven);
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

function judge(
  { experiment, value, what, unit, bound, goal }: Condition,
  outcomes: Outcome[],
): ConditionVerdict {
  const isShown = goal === null;
  const outcome = outcomes.find(({ name }) => name === experiment);
  const measured = outcome === undefined ? undefined : value(outcome);
  if (measured === undefined)
    return { what, holds: isShown, value: null, min: null, max: null, unit, bound, goal };
  const { median, min, max } = measured;
  const holds = isShown || (bound === 'at least' ? median >= goal : median <= goal);
  return { what, holds, value: short(median), min: short(min), max: short(max), unit, bound, goal };
}

function short(value: number): number {
  return Number(value.toPrecision(4));
}
