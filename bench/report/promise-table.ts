import { figure } from '../harness/number.ts';
import type { Results } from '../harness/record/results.ts';
import { aligned } from '../harness/terminal/progress.ts';

/** The verdicts as a table for a terminal. */
export function promiseTable({ verdicts }: Results): string {
  const rows = Object.entries(verdicts).flatMap(([id, { conditions }]) =>
    conditions.map(({ what, holds, value, min, max, unit, bound, goal }, place) => [
      `${place === 0 ? id : '  '}  ${what}`,
      verdictOf(goal, holds),
      value === null ? 'not measured' : `${figure(value)} ${unit}`,
      figure(min ?? Number.NaN),
      figure(max ?? Number.NaN),
      goal === null ? '' : `${bound} ${figure(goal)}`,
    ]),
  );
  return `${aligned([['promise', '', 'median', 'min', 'max', 'goal'], ...rows])}\n`;
}

function verdictOf(goal: number | null, holds: boolean): string {
  if (goal === null) return '';
  return holds ? 'holds' : 'MISSED';
}
