import { element, svg } from '../dom.js';
import { numberOf } from './name.js';

/** Shapes that distinguish subscriptions in addition to colors. */
export const SHAPES = [
  'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z',
  'M3.5 3.5h9v9h-9z',
  'M8 2.5 13.8 13H2.2z',
  'M8 2l6 6-6 6-6-6z',
  'M2.5 4h11L8 13.5z',
  'M6 2h4v4h4v4h-4v4H6v-4H2V6h4z',
] as const;

/** Returns the index of the color and shape of a subscription; -1 for the page itself. */
export function seriesIndex(source: string): number {
  return source === 'page' ? -1 : numberOf(source) % SHAPES.length;
}

/** Returns a badge with the shape and name of a subscription, or the one of the page itself. */
export function badge(source: string): HTMLElement {
  if (source === 'page') return element('span', { class: 'badge', 'data-series': 'page' }, 'page');
  const series = seriesIndex(source);
  const shape = svg(
    'svg',
    { viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    svg('path', { d: SHAPES[series] }),
  );
  return element('span', { class: 'badge', 'data-series': series }, shape, source);
}
