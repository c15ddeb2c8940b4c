import { element } from '../dom.js';

/**
 * The tasks of a server that a subscription is to ask for. No request lists them: each is named by
 * its id.
 */
export class TaskGroup {
  readonly group: HTMLElement;
  readonly #items = element('ul', { class: 'items' });
  readonly #changed: () => void;

  /** @param changed - called when a task was added. */
  constructor(changed: () => void) {
    this.#changed = changed;
    const head = element(
      'div',
      { class: 'list-head' },
      element('span', { class: 'title' }, 'Tasks'),
    );
    this.group = element(
      'div',
      { class: 'group', role: 'group', 'aria-label': 'Tasks' },
      head,
      this.#items,
    );
    this.group.append(this.#form());
  }

  /** The ids that are ticked. */
  get ticked(): string[] {
    return [...this.#items.querySelectorAll('input')]
      .filter(({ checked }) => checked)
      .map(({ value }) => value);
  }

  #form(): HTMLFormElement {
    const input = element('input', { type: 'text', spellcheck: 'false', required: true });
    const field = element(
      'label',
      { class: 'field grows' },
      element('span', {}, 'The id of a task'),
      input,
    );
    const form = element(
      'form',
      { class: 'row' },
      field,
      element('button', { type: 'submit' }, 'Add the task'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#add(input.value);
      input.value = '';
      this.#changed();
    });
    return form;
  }

  /** Adds a task, ticked; one that is there is ticked again. */
  #add(id: string): void {
    const known = [...this.#items.querySelectorAll('input')].find(({ value }) => value === id);
    const tick = known ?? element('input', { type: 'checkbox', value: id });
    tick.checked = true;
    if (known !== undefined) return;
    const label = element('label', { class: 'tick' }, tick, element('span', { class: 'name' }, id));
    this.#items.append(element('li', { 'data-key': id }, label));
  }
}
