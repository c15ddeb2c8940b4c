import { figure } from '../harness/number.ts';
import { aligned } from '../harness/progress.ts';
import type { Results } from '../harness/results.ts';

/** The verdicts as a terminal shows them. */
export function promiseTable({ verdicts }: Results): string {
  const rows = Object.entries(verdicts).flatMap(([id, { conditions }]) =>
    conditions.map(({ what, holds, value, min, max, unit, bound, goal }, place) => [
      `${place === 0 ? id : '  '}  ${what}`,
      holds ? 'holds' : 'MISSED',
      value === null ? 'not measured' : `${figure(value)} ${unit}`,
      figure(min ?? Number.NaN),
      figure(max ?? Number.NaN),
      `${bound} ${figure(goal)}`,
    ]),
  );
  return `${aligned([['promise', '', 'median', 'min', 'max', 'goal'], ...rows])}\n`;
}
