import { element } from '../dom.js';
import type { Frame } from '../mcp/frame.js';
import { timeOfDay } from '../moment.js';
import { badge } from '../subscriptions/badge.js';

/** A frame as a line of the timeline: when, whose, in or out, what, about what, how long. */
export function frameRow(frame: Frame): HTMLLIElement {
  const { at, source, direction, kind, title, subject, text } = frame;
  const arrow = element(
    'span',
    { class: 'arrow', 'aria-hidden': 'true' },
    direction === 'in' ? '↓' : '↑',
  );
  const button = element(
    'button',
    { type: 'button', class: 'frame', 'data-kind': kind, tabindex: -1 },
    element('time', { class: 'when' }, timeOfDay(at)),
    badge(source),
    arrow,
    element('span', { class: 'unseen' }, direction === 'in' ? ' received ' : ' sent '),
    element('span', { class: 'what' }, title),
    element('span', { class: 'about' }, ` ${subject}`),
    element(
      'span',
      { class: 'size' },
      ` ${text.length}`,
      element('span', { class: 'unseen' }, ' characters'),
    ),
  );
  return element('li', {}, button);
}
