import { element } from '../../dom.js';
import { timeOfDay } from '../../format.js';
import type { Message } from '../../mcp/message.js';
import { badge } from '../../subscriptions/badge.js';

/** Returns the row of a message: time, source, direction, title, detail and size. */
export function messageRow(message: Message): HTMLLIElement {
  const { at, source, direction, kind, title, detail, text } = message;
  const arrow = element(
    'span',
    { class: 'arrow', 'aria-hidden': 'true' },
    direction === 'in' ? '↓' : '↑',
  );
  const button = element(
    'button',
    { type: 'button', class: 'message', 'data-kind': kind, tabindex: -1 },
    element('time', { class: 'when' }, timeOfDay(at)),
    badge(source),
    arrow,
    element('span', { class: 'visually-hidden' }, direction === 'in' ? ' received ' : ' sent '),
    element('span', { class: 'what' }, title),
    element('span', { class: 'about' }, ` ${detail}`),
    element(
      'span',
      { class: 'size' },
      ` ${text.length}`,
      element('span', { class: 'visually-hidden' }, ' characters'),
    ),
  );
  return element('li', {}, button);
}
