import { figure } from '../harness/number.ts';
import type { Summary } from '../harness/statistics.ts';
import { linear } from './scale.ts';
import { color, element, image, label } from './svg.ts';

/** One figure of several contenders. */
export interface BarPlot {
  title: string;
  unit: string;
  bars: ({ name: string } & Summary)[];
}

/** The plot as SVG: medians as bars, minimum and maximum as whiskers. */
export function barPlot({ title, unit, bars }: BarPlot): string {
  const { place } = linear(Math.max(0, ...bars.map(({ max }) => max)), LEFT, WIDTH - RIGHT);
  const drawn = bars.flatMap(({ name, median, min, max }, index) => {
    const y = TOP + index * ROW;
    const middle = y + BAR / 2;
    return [
      label(name, { x: LEFT - 8, y: middle + 4, 'text-anchor': 'end' }),
      element('rect', {
        x: LEFT,
        y,
        // A figure that is a difference may be below 0.
        width: Math.max(0, place(median) - LEFT),
        height: BAR,
        fill: color(index),
      }),
      element('line', { x1: place(min), x2: place(max), y1: middle, y2: middle, stroke: '#333' }),
      label(`${figure(median)} ${unit}`, { x: place(Math.max(median, max)) + 8, y: middle + 4 }),
    ];
  });
  return image(title, WIDTH, TOP + bars.length * ROW + 12, [
    label(title, { x: 12, y: 20, 'font-weight': 'bold' }),
    ...drawn,
  ]);
}

const WIDTH = 760;
const LEFT = 190;
const RIGHT = 150;
const TOP = 40;
const ROW = 30;
const BAR = 20;
