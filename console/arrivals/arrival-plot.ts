import { byId, element, setText, svg } from '../dom.js';
import { shortTime } from '../format.js';
import { repaint } from '../repaint.js';
import { badge, SHAPES, seriesIndex } from '../subscriptions/badge.js';
import type { Arrival } from './arrivals.js';
import { percentile, roundedUp, SHARES } from './scale.js';

/**
 * A plot of the arrivals: one dot for each subscription that a change reached, the latest changes
 * at the right.
 */
export class ArrivalPlot {
  readonly #container = byId('arrivals', HTMLElement);
  readonly #summary = byId('arrivals-summary', HTMLElement);
  readonly #plot = svg('svg', { class: 'plot', role: 'img' });
  readonly #legend = element('ul', {
    class: 'legend',
    'aria-label': 'Median of each subscription',
  });
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);
  readonly #paint = repaint(() => this.#draw());
  #arrivals: Arrival[] = [];

  constructor() {
    this.#container.append(this.#empty, this.#plot, this.#legend);
    new ResizeObserver(this.#paint).observe(this.#container);
    this.#paint();
  }

  /** Adds an arrival. */
  add(arrival: Arrival): void {
    this.#arrivals.push(arrival);
    const oldest = arrival.publication - COLUMNS;
    if (this.#arrivals.length > COLUMNS) {
      this.#arrivals = this.#arrivals.filter(({ publication }) => publication > oldest);
    }
    this.#paint();
  }

  #draw(): void {
    const times = this.#arrivals.map(({ ms }) => ms);
    this.#empty.hidden = times.length > 0;
    this.#plot.toggleAttribute('hidden', times.length === 0);
    if (times.length === 0) return;
    const summary = SHARES.map(
      (share) => `p${share * 100} ${shortTime(percentile(times, share))}`,
    ).join(', ');
    setText(this.#summary, summary);
    this.#plot.setAttribute('aria-label', `${times.length} arrivals, ${summary}`);
    const { clientWidth: width } = this.#plot.parentElement ?? this.#container;
    this.#plot.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    const top = roundedUp(Math.max(...times));
    this.#plot.replaceChildren(...lines(width, top), ...this.#dots(width, top));
    this.#legend.replaceChildren(...this.#medians());
  }

  #dots(width: number, top: number): SVGElement[] {
    const last = this.#arrivals.at(-1)?.publication ?? 0;
    const first = Math.max(1, last - COLUMNS + 1);
    const step = (width - LEFT - RIGHT) / (COLUMNS - 1);
    const names = this.#names;
    return this.#arrivals.map(({ publication, subscription, topic, ms }) => {
      const x = LEFT + (publication - first) * step + names.indexOf(subscription) * DOT_OFFSET;
      const y = heightOf(ms, top);
      const series = seriesIndex(subscription);
      const transform = `translate(${(x - 5.2).toFixed(1)} ${(y - 5.2).toFixed(1)}) scale(0.65)`;
      const title = svg('title', {}, `${subscription}: ${topic} after ${shortTime(ms)}`);
      return svg(
        'path',
        { d: SHAPES[series], class: 'dot', 'data-series': series, transform },
        title,
      );
    });
  }

  get #names(): string[] {
    return [...new Set(this.#arrivals.map(({ subscription }) => subscription))].sort();
  }

  #medians(): HTMLElement[] {
    return this.#names.map((name) => {
      const times = this.#arrivals
        .filter(({ subscription }) => subscription === name)
        .map(({ ms }) => ms);
      return element('li', {}, badge(name), ` ${shortTime(percentile(times, 0.5))}`);
    });
  }
}

function lines(width: number, top: number): SVGElement[] {
  return [0, top / 2, top].flatMap((ms) => {
    const y = heightOf(ms, top);
    const label = svg(
      'text',
      { x: LEFT - 8, y: y + 3.5, class: 'tick' },
      shortTime(ms).replace(/\.0 /, ' '),
    );
    return [svg('line', { x1: LEFT, x2: width - RIGHT / 2, y1: y, y2: y, class: 'grid' }), label];
  });
}

function heightOf(ms: number, top: number): number {
  return HEIGHT - BOTTOM - (ms / top) * (HEIGHT - BOTTOM - TOP);
}

/** Number of publications in the plot. */
const COLUMNS = 40;
/**
 * Horizontal distance between the dots of one publication, which would otherwise overlap, in
 * pixels.
 */
const DOT_OFFSET = 4;
/** The height of the plot in pixels. */
const HEIGHT = 136;
const [LEFT, RIGHT, TOP, BOTTOM] = [56, 16, 10, 10];
const EMPTY_TEXT =
  'Call a tool or publish while a subscription is open: each cue is a dot at its delay.';
