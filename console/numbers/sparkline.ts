import { svg } from '../dom.js';

/** A small plot of the latest values, the newest at the right. */
export class Sparkline {
  readonly drawing: SVGSVGElement;
  readonly #line = svg('path', { class: 'stroke' });
  readonly #area = svg('path', { class: 'area' });
  #values: number[] = [];

  constructor() {
    const box = {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    };
    this.drawing = svg('svg', { class: 'spark', ...box }, this.#area, this.#line);
  }

  /** Adds a value. */
  add(value: number): void {
    this.#values = [...this.#values, value].slice(-POINTS);
    const top = Math.max(1, ...this.#values);
    const left = POINTS - this.#values.length;
    const points = this.#values.map((each, index) => {
      const x = ((left + index) / (POINTS - 1)) * WIDTH;
      return `${x.toFixed(1)} ${(HEIGHT - 1.5 - (each / top) * (HEIGHT - 3)).toFixed(1)}`;
    });
    const begin = ((left / (POINTS - 1)) * WIDTH).toFixed(1);
    this.#line.setAttribute('d', `M${points.join('L')}`);
    this.#area.setAttribute('d', `M${begin} ${HEIGHT}L${points.join('L')}L${WIDTH} ${HEIGHT}z`);
  }
}

const POINTS = 60;
const WIDTH = 120;
const HEIGHT = 32;
