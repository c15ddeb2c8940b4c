import { figure } from '../number.ts';
import { axisValues, type Outcome, pointOf, quoted } from '../outcome.ts';
import { aligned } from './progress.ts';

/**
 * A table of our figures beside those of an earlier run. Times of two runs can be compared only if
 * the machine was idle in both.
 */
export function against(now: Outcome[], before: Outcome[]): string {
  const rows = now.flatMap((outcome) => {
    const earlier = before.find(({ name }) => name === outcome.name);
    return earlier === undefined
      ? []
      : axisValues(outcome).flatMap((x) => rowsAt(outcome, earlier, x));
  });
  return `${aligned([['ours', 'before', 'now', '', 'now/before'], ...rows])}\n`;
}

function rowsAt(now: Outcome, before: Outcome, x: number): string[][] {
  const ours = now.contenders[0]?.name ?? '';
  return now.metrics.flatMap((metric) => {
    const [was, is] = [pointOf(before, ours, x), pointOf(now, ours, x)];
    if (was === undefined || is === undefined) return [];
    const [earlier, later] = [quoted(was, metric).median, quoted(is, metric).median];
    const label = now.axis === undefined ? now.name : `${now.name} ${figure(x)}`;
    return [
      [
        `${label}, ${metric.title}`,
        figure(earlier),
        figure(later),
        metric.unit,
        `${figure(later / earlier)}x`,
      ],
    ];
  });
}
