import { figure } from '../harness/number.ts';
import type { Summary } from '../harness/statistics.ts';
import { type Scale, scaleOf } from './scale.ts';
import { color, element, image, label } from './svg.ts';

/** One figure of several contenders along an axis. */
export interface LinePlot {
  title: string;
  x: string;
  y: string;
  lines: Line[];
}

/** One contender. */
export interface Line {
  name: string;
  points: ({ x: number } & Summary)[];
}

/** The plot as SVG: medians joined, minimum and maximum as whiskers. */
export function linePlot({ title, x, y, lines }: LinePlot): string {
  const points = lines.flatMap((line) => line.points);
  const across = scaleOf(
    points.map((point) => point.x),
    LEFT,
    WIDTH - RIGHT,
  );
  const up = scaleOf(
    points.flatMap(({ min, max }) => [min, max]),
    HEIGHT - BOTTOM,
    TOP,
  );
  return image(title, WIDTH, HEIGHT, [
    label(title, { x: LEFT, y: 20, 'font-weight': 'bold' }),
    ...horizontals(up),
    ...verticals(across),
    label(x, { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, 'text-anchor': 'middle' }),
    label(y, { x: LEFT, y: TOP - 10 }),
    ...lines.flatMap((line, place) => lineOf(line, place, across, up)),
    ...lines.map(({ name }, place) =>
      label(name, { x: WIDTH - RIGHT + 12, y: TOP + 14 + place * 18, fill: color(place) }),
    ),
  ]);
}

function lineOf({ points }: Line, place: number, across: Scale, up: Scale): string[] {
  const at = points.map(
    ({ x, median }) => `${across.place(x).toFixed(1)},${up.place(median).toFixed(1)}`,
  );
  const stroke = { stroke: color(place), 'stroke-width': 2, fill: 'none' };
  return [
    element('polyline', { points: at.join(' '), ...stroke }),
    ...points.flatMap(({ x, median, min, max }) => [
      element('line', {
        ...stroke,
        'stroke-width': 1,
        x1: across.place(x),
        x2: across.place(x),
        y1: up.place(min),
        y2: up.place(max),
      }),
      element('circle', { cx: across.place(x), cy: up.place(median), r: 3, fill: color(place) }),
    ]),
  ];
}

function horizontals({ place, ticks }: Scale): string[] {
  return ticks.flatMap((tick) => [
    element('line', {
      x1: LEFT,
      x2: WIDTH - RIGHT,
      y1: place(tick),
      y2: place(tick),
      stroke: '#ddd',
    }),
    label(figure(tick), { x: LEFT - 6, y: place(tick) + 4, 'text-anchor': 'end' }),
  ]);
}

function verticals({ place, ticks }: Scale): string[] {
  return ticks.flatMap((tick) => [
    element('line', {
      x1: place(tick),
      x2: place(tick),
      y1: TOP,
      y2: HEIGHT - BOTTOM,
      stroke: '#eee',
    }),
    label(figure(tick), { x: place(tick), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle' }),
  ]);
}

const WIDTH = 760;
const HEIGHT = 380;
const LEFT = 70;
const RIGHT = 230;
const TOP = 56;
const BOTTOM = 48;
