import { diffLines } from 'diff';
import { element } from '../../dom.js';
import { timeOfDay } from '../../format.js';
import type { ResourceState } from './resource-states.js';

/**
 * Returns the two states of a resource side by side: lines that are gone are marked in the previous
 * one, and new lines in the current one.
 */
export function sideBySide(now: ResourceState, before: ResourceState | undefined): HTMLElement[] {
  if (before === undefined) return [pane('Now', now, [lines(now.text, 'same')])];
  const parts = diffLines(before.text, now.text);
  const former = parts.filter(({ added }) => !added);
  const current = parts.filter(({ removed }) => !removed);
  return [
    pane(
      'Last state',
      before,
      former.map((part) => lines(part.value, part.removed ? 'gone' : 'same')),
    ),
    pane(
      'Now',
      now,
      current.map((part) => lines(part.value, part.added ? 'new' : 'same')),
    ),
  ];
}

function pane(title: string, { at }: ResourceState, content: HTMLElement[]): HTMLElement {
  const head = element('p', { class: 'note' }, `${title}, read at ${timeOfDay(at)}`);
  const box = { tabindex: 0, role: 'region', 'aria-label': title, class: 'state-text' };
  return element('div', { class: 'state-pane' }, head, element('pre', box, ...content));
}

function lines(text: string, kind: 'same' | 'gone' | 'new'): HTMLElement {
  const rows = text.replace(/\n$/, '').split('\n');
  const tag = { same: 'span', gone: 'del', new: 'ins' } as const;
  const body = rows.map((row) => element('span', { class: 'line' }, `${row}\n`));
  return element(tag[kind], { class: `lines ${kind}` }, ...body);
}
