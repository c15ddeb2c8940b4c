import { element, write } from '../dom.js';
import type { List } from '../mcp/endpoint.js';
import type { Item } from './catalogue.js';

/**
 * A list of the server: its tick stands for changes of the list, those of its entries for changes
 * of them.
 */
export class ListGroup {
  readonly group: HTMLElement;
  /** The tick of the list itself. */
  readonly tick = element('input', { type: 'checkbox' });
  readonly list: List;
  readonly #fold = element('button', { type: 'button', class: 'count' }, '…');
  readonly #items = element('ul', { class: 'items' });
  readonly #choose: (item: Item) => void;
  readonly #ticked = new Set<string>();
  #own: Item[] = [];
  #listed: Item[] = [];

  /** @param choose - called with an entry whose name was clicked. */
  constructor(list: List, choose: (item: Item) => void) {
    this.list = list;
    this.#choose = choose;
    const hint = element('span', { class: 'hint' }, ' list changes');
    const label = element(
      'label',
      { class: 'tick' },
      this.tick,
      element('span', {}, TITLES[list], hint),
    );
    const head = element('div', { class: 'list-head' }, label, this.#fold);
    this.group = element(
      'div',
      { class: 'group', role: 'group', 'aria-label': TITLES[list] },
      head,
      this.#items,
    );
    this.#fold.addEventListener('click', () => this.#show(this.#items.hidden === true));
    // Where there is little room, what can be ticked comes before what can only be read.
    this.#show(list === 'resources' || matchMedia('(min-width: 760px)').matches);
    this.#items.addEventListener(
      'change',
      ({ target }) => target instanceof HTMLInputElement && this.#note(target),
    );
  }

  /** The entries that are ticked. */
  get ticked(): string[] {
    return [...this.#ticked];
  }

  /** Ticks an entry. */
  tickItem(key: string): void {
    this.#ticked.add(key);
    this.#draw();
  }

  /** Adds an entry that the server does not list, ticked. */
  add(key: string): void {
    if (!this.#own.some((item) => item.key === key))
      this.#own.push({ key, description: 'not listed', raw: {} });
    this.tickItem(key);
  }

  /** Shows these entries; ticks stay. Says which ones are new. */
  show(items: Item[]): void {
    const isFirst = this.#listed.length === 0;
    const known = new Set(this.#listed.map(({ key }) => key));
    this.#listed = items;
    this.#draw();
    write(this.#fold, String(items.length));
    this.#fold.disabled = items.length === 0;
    this.#fold.title = `${items.length} ${this.list}`;
    this.#show(!this.#items.hidden);
    for (const row of this.#items.children) {
      const key = row.getAttribute('data-key') ?? '';
      if (!isFirst && !known.has(key) && items.some((item) => item.key === key))
        row.classList.add('new');
    }
  }

  #show(isOpen: boolean): void {
    this.#items.hidden = !isOpen;
    this.#fold.setAttribute('aria-expanded', String(isOpen));
    this.#fold.setAttribute(
      'aria-label',
      `${this.#listed.length} ${this.list}, ${isOpen ? 'shown' : 'hidden'}`,
    );
  }

  #draw(): void {
    const listed = new Set(this.#listed.map(({ key }) => key));
    const all = [...this.#listed, ...this.#own.filter(({ key }) => !listed.has(key))];
    const focused = document.activeElement?.closest('[data-key]')?.getAttribute('data-key');
    this.#items.replaceChildren(...all.map((item) => this.#row(item)));
    const again = [...this.#items.children].find((row) => row.getAttribute('data-key') === focused);
    again?.querySelector<HTMLElement>('input, button')?.focus();
  }

  #row(item: Item): HTMLLIElement {
    const name = element('span', { class: 'name' }, item.key);
    const about = element('span', { class: 'about' }, item.description);
    const row = element('li', { 'data-key': item.key });
    if (this.list === 'resources') {
      const tick = element('input', { type: 'checkbox', value: item.key });
      tick.checked = this.#ticked.has(item.key);
      row.append(element('label', { class: 'tick' }, tick, name, about));
    } else if (this.list === 'tools') {
      const button = element(
        'button',
        { type: 'button', class: 'entry', title: 'Fill in the form' },
        name,
        about,
      );
      button.addEventListener('click', () => this.#choose(item));
      row.append(button);
    } else row.append(element('div', { class: 'entry' }, name, about));
    return row;
  }

  #note({ checked, value }: HTMLInputElement): void {
    if (checked) this.#ticked.add(value);
    else this.#ticked.delete(value);
  }
}

const TITLES: Record<List, string> = { tools: 'Tools', prompts: 'Prompts', resources: 'Resources' };
