import { element, setText } from '../dom.js';
import { type Items, type List, MAX_PAGES } from '../mcp/lists.js';
import type { Item } from './catalogue.js';

/** A list of the server, with checkboxes for changes of the list and of its entries. */
export class ListGroup {
  readonly group: HTMLElement;
  /** The checkbox for changes of the list. */
  readonly tick = element('input', { type: 'checkbox' });
  readonly list: List;
  readonly #fold = element('button', { type: 'button', class: 'count' }, '…');
  readonly #items = element('ul', { class: 'items' });
  readonly #rest = element('p', { class: 'note', hidden: true }, REST_TEXT);
  readonly #onChoose: (item: Item) => void;
  readonly #ticked = new Set<string>();
  #added: Item[] = [];
  #listed: Item[] = [];
  #isRead = false;

  /** @param onChoose - called with an entry whose button was clicked. */
  constructor(list: List, onChoose: (item: Item) => void) {
    this.list = list;
    this.#onChoose = onChoose;
    const label = this.#label();
    const head = element('div', { class: 'list-head' }, label, this.#fold);
    this.group = element(
      'div',
      { class: 'group', role: 'group', 'aria-label': TITLES[list] },
      head,
      this.#items,
      this.#rest,
    );
    this.#fold.addEventListener('click', () => this.#show(this.#items.hidden === true));
    // On narrow screens, lists without checkboxes are collapsed.
    this.#show(list === 'resources' || matchMedia('(min-width: 760px)').matches);
    this.#items.addEventListener(
      'change',
      ({ target }) => target instanceof HTMLInputElement && this.#toggle(target),
    );
  }

  /** The keys of the checked entries. */
  get ticked(): string[] {
    return [...this.#ticked];
  }

  /** Checks an entry. */
  tickItem(key: string): void {
    this.#ticked.add(key);
    this.#draw();
  }

  /** Adds a checked entry that the server does not list. */
  add(key: string): void {
    this.#addUnlisted(key);
    this.tickItem(key);
  }

  /** Shows these entries and marks the new ones; checked entries stay checked. */
  show({ hasMore, items }: Items<Item>): void {
    const isFirst = !this.#isRead;
    this.#isRead = true;
    const known = new Set(this.#listed.map(({ key }) => key));
    this.#listed = items;
    const listed = new Set(items.map(({ key }) => key));
    for (const key of this.#ticked) if (!listed.has(key)) this.#addUnlisted(key);
    this.#rest.hidden = !hasMore;
    this.group.hidden = items.length === 0 && !ANNOUNCED.includes(this.list);
    this.#draw();
    setText(this.#fold, String(items.length));
    this.#fold.disabled = items.length === 0;
    this.#fold.title = `${items.length} ${TITLES[this.list].toLowerCase()}`;
    this.#show(!this.#items.hidden);
    for (const row of this.#items.children) {
      const key = row.getAttribute('data-key') ?? '';
      if (!isFirst && !known.has(key) && listed.has(key)) row.classList.add('new');
    }
  }

  /** A checked entry stays visible when it leaves the list, so that it can be unchecked. */
  #addUnlisted(key: string): void {
    if (!this.#added.some((item) => item.key === key))
      this.#added.push({ key, description: 'not listed', raw: {} });
  }

  /** Servers announce changes of some lists only. */
  #label(): HTMLElement {
    const title = TITLES[this.list];
    if (this.list === 'templates') return element('span', { class: 'title' }, title);
    const hint = element('span', { class: 'hint' }, ' list changes');
    return element('label', { class: 'tick' }, this.tick, element('span', {}, title, hint));
  }

  #show(isOpen: boolean): void {
    this.#items.hidden = !isOpen;
    this.#fold.setAttribute('aria-expanded', String(isOpen));
    this.#fold.setAttribute(
      'aria-label',
      `${this.#listed.length} ${TITLES[this.list].toLowerCase()}, ${isOpen ? 'shown' : 'hidden'}`,
    );
  }

  #draw(): void {
    const listed = new Set(this.#listed.map(({ key }) => key));
    const all = [...this.#listed, ...this.#added.filter(({ key }) => !listed.has(key))];
    const focused = this.#items.contains(document.activeElement) ? document.activeElement : null;
    this.#items.replaceChildren(...all.map((item) => this.#row(item)));
    if (focused !== null) this.#focusLike(focused);
  }

  /** Focuses the new control of a previous one; if its row is gone, the first of the list. */
  #focusLike(former: Element): void {
    const key = former.closest('[data-key]')?.getAttribute('data-key');
    const row = [...this.#items.children].find((item) => item.getAttribute('data-key') === key);
    const control =
      row?.querySelector<HTMLElement>(former.localName) ??
      this.group.querySelector<HTMLElement>('input, button');
    control?.focus();
  }

  #row(item: Item): HTMLLIElement {
    const name = element('span', { class: 'name' }, item.key);
    const description = element('span', { class: 'about' }, item.description);
    const row = element('li', { 'data-key': item.key });
    if (this.list !== 'resources') {
      const entry = { type: 'button', class: 'entry', title: 'Fill in the form' };
      row.append(this.#chosenBy(element('button', entry, name, description), item));
      return row;
    }
    const tick = element('input', { type: 'checkbox', value: item.key });
    tick.checked = this.#ticked.has(item.key);
    const read = element('button', { type: 'button', class: 'quiet' }, 'Read');
    read.setAttribute('aria-label', `Read ${item.key}`);
    row.append(
      element('label', { class: 'tick' }, tick, name, description),
      this.#chosenBy(read, item),
    );
    return row;
  }

  #chosenBy(button: HTMLButtonElement, item: Item): HTMLButtonElement {
    button.addEventListener('click', () => this.#onChoose(item));
    return button;
  }

  #toggle({ checked, value }: HTMLInputElement): void {
    if (checked) this.#ticked.add(value);
    else this.#ticked.delete(value);
  }
}

const REST_TEXT =
  `This list has more than ${MAX_PAGES} pages. ` + `The page shows the first ${MAX_PAGES}.`;
const ANNOUNCED: readonly List[] = ['resources', 'tools', 'prompts'];
const TITLES: Record<List, string> = {
  tools: 'Tools',
  prompts: 'Prompts',
  resources: 'Resources',
  templates: 'Templates',
  events: 'Event types',
};
