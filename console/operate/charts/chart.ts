import uPlot from 'uplot';
import { element } from '../../dom.js';
import { timeOfDay } from '../../format.js';
import type { Line } from './line.js';

/** What a chart shows. */
export interface ChartOptions {
  title: string;
  /** Lines beside each other, or bars on top of each other. */
  kind: 'lines' | 'stack';
  /** Writes a value with its unit. */
  format: (value: number) => string;
  /** Whether the axis is logarithmic. */
  isLogarithmic?: boolean;
  /** What is shown while all values are 0 or missing, and what the user may do about it. */
  empty: string;
}

/**
 * A chart of the last minutes. Beside the names of its lines are the values at the pointer, or else
 * the current ones.
 */
export class Chart {
  readonly panel: HTMLElement;
  readonly #options: ChartOptions;
  readonly #canvas = element('div', { class: 'canvas', role: 'img' });
  readonly #empty: HTMLElement;
  readonly #legend = element('ul', { class: 'legend' });
  #plot: uPlot | undefined;
  #labels = '';
  #times: number[] = [];
  #lines: Line[] = [];

  constructor(options: ChartOptions) {
    this.#options = options;
    const heading = element('h2', {}, options.title);
    const head = element('header', { class: 'head' }, heading, this.#legend);
    this.panel = element('section', { class: 'panel chart', 'aria-label': options.title });
    this.#empty = element('p', { class: 'empty' }, options.empty);
    this.#canvas.append(this.#empty);
    this.panel.append(head, this.#canvas);
    this.#canvas.setAttribute('aria-label', `${options.title}: ${options.empty}`);
    new ResizeObserver(() => this.#resize()).observe(this.#canvas);
  }

  /** Shows lines at these times, in seconds since 1970. */
  show(times: number[], lines: Line[]): void {
    this.#times = times;
    this.#lines = lines;
    if (this.#canvas.clientWidth === 0) return;
    this.#describe();
    const labels = lines.map(({ label }) => label).join('\n');
    if (labels !== this.#labels || this.#plot === undefined) this.#create(labels);
    this.#plot?.setData(this.#data());
  }

  /** Writes the value of each line at the pointer, or its last one. */
  #describe(): void {
    const at = this.#plot?.cursor.idx ?? -1;
    const shown = this.#lines.map(({ label, values }) => {
      const value = values.at(at) ?? null;
      return [label, value === null ? '–' : this.#options.format(value)] as const;
    });
    this.#legend.replaceChildren(...shown.map(entry));
    this.#empty.hidden = this.#lines.some(({ values }) => values.some(Boolean));
    const words = this.#empty.hidden
      ? shown.map((pair) => pair.join(' ')).join(', ')
      : this.#options.empty;
    this.#canvas.setAttribute('aria-label', `${this.#options.title}: ${words}`);
  }

  #create(labels: string): void {
    this.#plot?.destroy();
    this.#labels = labels;
    const { isLogarithmic = false, kind } = this.#options;
    const series = this.#lines.map(({ label }, index) => seriesOf(label, index, kind));
    // The highest bar of a stack is drawn first, and lower ones over it.
    if (kind === 'stack') series.reverse();
    this.#plot = new uPlot(
      {
        ...{ width: this.#canvas.clientWidth, height: HEIGHT, padding: [10, HALF_LABEL, 0, 0] },
        legend: { show: false },
        cursor: { y: false, drag: { x: false }, points: { show: false } },
        hooks: { setCursor: [() => this.#describe()] },
        scales: { x: timeScale(), y: scaleOf(isLogarithmic) },
        axes: [timeAxis(), this.#valueAxis(isLogarithmic)],
        series: [{}, ...series],
      },
      this.#data(),
      this.#canvas,
    );
  }

  #valueAxis(isLogarithmic: boolean): uPlot.Axis {
    const values = (_: uPlot, ticks: (number | null)[]): string[] =>
      ticks.map((tick) => (tick === null ? '' : this.#options.format(tick)));
    const powers = (_: uPlot, __: number, min: number, max: number): number[] =>
      POWERS.filter((power) => power >= min && power <= max);
    return { ...axis(), size: 58, values, ...(isLogarithmic && { splits: powers }) };
  }

  #data(): uPlot.AlignedData {
    const values = this.#lines.map((line) => line.values);
    if (this.#options.kind === 'lines') return [this.#times, ...values];
    const stacked: number[][] = [];
    for (const part of values) {
      const below = stacked.at(-1);
      stacked.push(part.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)));
    }
    return [this.#times, ...stacked.reverse()];
  }

  #resize(): void {
    const width = this.#canvas.clientWidth;
    if (width === 0) return;
    if (this.#plot === undefined) this.show(this.#times, this.#lines);
    else if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
  }
}

function entry([label, value]: readonly [string, string], index: number): HTMLElement {
  return element('li', { 'data-series': index }, label, element('b', {}, value));
}

function seriesOf(label: string, index: number, kind: 'lines' | 'stack'): uPlot.Series {
  const color = () => colorOf(`var(--series-${index})`);
  const points = { show: false };
  if (kind === 'lines') return { label, stroke: color, width: 1.5, points, spanGaps: true };
  const paths = uPlot.paths.bars?.({ size: [1, 100], gap: 0 });
  return { label, fill: color, width: 0, points, ...(paths && { paths }) };
}

function scaleOf(isLogarithmic: boolean): uPlot.Scale {
  return isLogarithmic
    ? { distr: 3, range: (_, __, max) => [1, Math.max(max || 0, 100) * 1.2] }
    : { range: (_, __, max) => [0, Math.max(max || 0, 1) * 1.1] };
}

/** Shows at least the last minute. */
function timeScale(): uPlot.Scale {
  return { time: false, range: (_, min, max) => [Math.min(min, max - 60), max] };
}

function axis(): uPlot.Axis {
  const line = () => colorOf('var(--line)');
  return {
    stroke: () => colorOf('var(--soft)'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
}

function timeAxis(): uPlot.Axis {
  const values = (_: uPlot, ticks: number[]): string[] =>
    ticks.map((tick) => timeOfDay(tick * 1_000).slice(0, 'hh:mm:ss'.length));
  return { ...axis(), size: 32, space: 80, incrs: [5, 10, 15, 30, 60, 120], values };
}

/** Returns a color of the style sheet as it is now, in light or dark. */
function colorOf(value: string): string {
  probe.style.color = value;
  return getComputedStyle(probe).color;
}

const probe = element('span', { hidden: true });
document.body.append(probe);
/** The height of a chart in pixels. */
const HEIGHT = 190;
/** Pixels of half a time of day, which the last label extends to the right of its tick. */
const HALF_LABEL = 28;
const POWERS = [1, 10, 100, 1_000, 10_000];
