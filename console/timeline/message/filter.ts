import { byId, element } from '../../dom.js';
import type { Message } from '../../mcp/message.js';

/** The filter of the timeline: by source, by kind and by text. */
export class MessageFilter {
  readonly #text = byId('filter-text', HTMLInputElement);
  readonly #source = byId('filter-source', HTMLSelectElement);
  readonly #kind = byId('filter-kind', HTMLSelectElement);

  /** @param onChange - called when the filter changes. */
  constructor(onChange: () => void) {
    this.#kind.append(...KINDS.map(([value, label]) => element('option', { value }, label)));
    this.sources([]);
    for (const field of [this.#text, this.#source, this.#kind])
      field.addEventListener('input', onChange);
  }

  /**
   * Offers these subscriptions; the selected one stays selected if it is still among them. Returns
   * whether the filter has changed.
   */
  sources(names: readonly string[]): boolean {
    const chosen = this.#source.value;
    const offered = [
      ['', 'All sources'],
      ...names.map((name) => [name, `Subscription ${name}`]),
      ['page', 'This page'],
    ];
    this.#source.replaceChildren(
      ...offered.map(([value = '', label = '']) =>
        element('option', { value, selected: value === chosen }, label),
      ),
    );
    return this.#source.value !== chosen;
  }

  /** Whether the filter accepts everything. */
  get isOpen(): boolean {
    return this.#text.value === '' && this.#source.value === '' && this.#kind.value === '';
  }

  /** Returns a predicate for messages, according to the current filter. */
  get accepts(): (message: Message) => boolean {
    const [source, kind] = [this.#source.value, this.#kind.value];
    // Unlike `toLowerCase`, this copies no text.
    const text = new RegExp(this.#text.value.replace(SYNTAX, '\\$&'), 'iu');
    return (message) =>
      (source === '' || message.source === source) &&
      (kind === '' || message.kind === kind) &&
      text.test(message.text);
  }
}

/** The characters with a meaning in a regular expression. */
const SYNTAX = /[$()*+./?[\\\]^{|}]/g;
const KINDS = [
  ['', 'All kinds'],
  ['cue', 'Cues'],
  ['event', 'Events'],
  ['ack', 'Acknowledgments'],
  ['request', 'Requests'],
  ['response', 'Results'],
  ['error', 'Errors'],
  ['end', 'Ends of streams'],
  ['notification', 'Other notifications'],
  ['unreadable', 'Unreadable'],
] as const;
