import { element, labelled } from '../dom.js';
import type { Item } from '../server/catalogue.js';

/** A select element with the entries of a list of the server. */
export class Choice {
  readonly field: HTMLLabelElement;
  readonly description = element('p', { class: 'note' });
  readonly #select = element('select', {});
  readonly #onChange: (item: Item | undefined) => void;
  #items: Item[] = [];

  /** @param onChange - called when another entry is selected, or when there is none. */
  constructor(title: string, onChange: (item: Item | undefined) => void) {
    this.#onChange = onChange;
    this.field = labelled(title, this.#select);
    this.#select.addEventListener('change', () => this.#changed());
  }

  /** The selected entry; undefined if there is none. */
  get item(): Item | undefined {
    return this.#items.find(({ key }) => key === this.#select.value);
  }

  /**
   * Offers these entries; the selected one stays selected if it is still among them, and counts as
   * another one if its definition has changed.
   */
  offer(items: Item[]): void {
    const former = this.#select.value;
    const definition = definitionOf(this.item);
    this.#items = items;
    const names = items.map(({ key }) => key);
    const options = names.map((name) => element('option', { value: name }, name));
    this.#select.replaceChildren(...options);
    if (items.length === 0) this.#select.append(element('option', { value: '' }, 'none yet'));
    this.#select.disabled = items.length === 0;
    const isOffered = names.includes(former);
    if (isOffered) this.#select.value = former;
    if (!isOffered || definitionOf(this.item) !== definition) this.#changed();
  }

  /** Selects an entry and focuses the element. */
  choose({ key }: Item): void {
    this.#select.value = key;
    this.#changed();
    this.#select.focus();
  }

  #changed(): void {
    this.description.textContent = this.item?.description ?? EMPTY_TEXT;
    this.#onChange(this.item);
  }
}

/** Returns what a form shows of an entry, as JSON. */
function definitionOf(item: Item | undefined): string {
  const { _meta, ...definition } = item?.raw ?? {};
  return JSON.stringify(definition);
}

const EMPTY_TEXT =
  'The server lists none. Connect to one that does, or wait for a change of the list.';
