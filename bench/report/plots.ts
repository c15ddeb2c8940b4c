import type { Metric } from '../harness/experiment.ts';
import { type Outcome, pointOf, quoted, type Standing } from '../harness/outcome.ts';
import { exponent } from '../harness/statistics.ts';
import { barPlot } from './bar-plot.ts';
import { type Line, linePlot } from './line-plot.ts';

/** An image of one metric of an experiment. */
export interface Plot {
  file: string;
  svg: string;
}

/** The plots of an outcome, one for each metric with figures. */
export function plotsOf(outcome: Outcome): Plot[] {
  return outcome.metrics.flatMap((metric) => {
    const svg =
      outcome.axis === undefined ? bars(outcome, metric) : lines(outcome, metric, outcome.axis);
    return svg === undefined ? [] : [{ file: `${outcome.name}-${metric.id}.svg`, svg }];
  });
}

function bars({ title, contenders, ...outcome }: Outcome, metric: Metric): string | undefined {
  const measured = contenders.flatMap(({ name }) => {
    const point = pointOf({ title, contenders, ...outcome }, name, 0);
    return point === undefined ? [] : [{ name, ...quoted(point, metric) }];
  });
  // The table shows a single figure.
  return measured.length < 2
    ? undefined
    : barPlot({ title: `${title}: ${metric.title}`, unit: metric.unit, bars: measured });
}

function lines({ title, contenders }: Outcome, metric: Metric, axis: string): string | undefined {
  const measured = contenders.map((standing) => lineOf(standing, metric));
  const drawn = measured.filter(({ points }) => points.length > 0);
  return drawn.length === 0
    ? undefined
    : linePlot({ title, x: axis, y: `${metric.title}, ${metric.unit}`, lines: drawn });
}

/** The line of a contender, with its exponent in the name. */
function lineOf({ name, points: all }: Standing, metric: Metric): Line {
  const measured = all.filter(({ rounds }) => rounds.length > 0);
  const points = measured.map((point) => ({ x: point.x, ...quoted(point, metric) }));
  const power = exponent(points.map(({ x, median }) => ({ x, y: median })));
  return { name: power === undefined ? name : `${name} ~ x^${power.toFixed(2)}`, points };
}
