import type { Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { count } from '../format.js';
import { fill, panelOf, scrolling, table } from './panel.js';

/** The topics with the most streams, and on request the callers. */
export class ListenersView {
  readonly panel: HTMLElement;
  readonly #summary = element('span', { class: 'soft' });
  readonly #topics = element('tbody');
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);

  /** @param onCallers - called when the user wants to see callers, or no longer does. */
  constructor(onCallers: (hasCallers: boolean) => void) {
    const box = element('input', { type: 'checkbox' });
    box.addEventListener('change', () => onCallers(box.checked));
    const tick = element('label', { class: 'tick' }, box, element('span', {}, 'Callers'));
    const tools = element('div', { class: 'tools' }, tick);
    this.panel = panelOf('listeners', 'Who listens to what', this.#summary, tools);
    const topics = table(CAPTION, ['Topic', 'Streams'], this.#topics);
    this.panel.append(scrolling(CAPTION, topics, this.#empty));
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

const CAPTION = 'Topics by their number of streams';
const EMPTY_TEXT =
  'No stream is open, or topics need the token. Enter it, or open a subscription in Inspect.';
