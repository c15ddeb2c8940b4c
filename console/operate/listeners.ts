import type { Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { count } from '../format.js';
import { fill, table } from './topology.js';

/** The topics with the most streams, and on request the callers. */
export class ListenersView {
  readonly panel = element('section', {
    class: 'panel listeners',
    'aria-labelledby': 'listeners-title',
  });
  readonly #summary = element('span', { class: 'soft' });
  readonly #topics = element('tbody');
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);

  /** @param onCallers - called when the user wants to see callers, or no longer does. */
  constructor(onCallers: (hasCallers: boolean) => void) {
    const title = element('h2', { id: 'listeners-title' }, 'Who listens to what');
    const box = element('input', { type: 'checkbox' });
    box.addEventListener('change', () => onCallers(box.checked));
    const tick = element('label', { class: 'tick' }, box, element('span', {}, 'Callers'));
    const topics = table('Topics by their number of streams', ['Topic', 'Streams']);
    topics.append(this.#topics);
    const region = { class: 'scrolls', tabindex: 0, role: 'region' };
    const body = element('div', region, topics, this.#empty);
    body.setAttribute('aria-label', 'Topics by their number of streams');
    const tools = element('div', { class: 'tools' }, tick);
    this.panel.append(element('header', { class: 'head' }, title, this.#summary, tools), body);
  }

  /** Shows a snapshot. */
  show({ callers = [], topics }: Snapshot): void {
    const rows = [...callers, ...topics];
    setText(this.#summary, rows.length === 0 ? '' : `the ${count(rows.length)} largest`);
    this.#empty.hidden = rows.length > 0;
    fill(
      this.#topics,
      rows.map(({ streams, topic }) => [topic, count(streams)]),
    );
  }
}

const EMPTY_TEXT =
  'No stream is open, or topics need the token. Enter it, or open a subscription in Inspect.';
