import { element } from '../dom.js';

/** The tasks to subscribe to. No request lists them, so the user enters their ids. */
export class TaskGroup {
  readonly group: HTMLElement;
  readonly #items = element('ul', { class: 'items' });
  readonly #onChange: () => void;

  /** @param onChange - called when a task was added. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
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

  /** The ids of the checked tasks. */
  get ticked(): string[] {
    return [...this.#items.querySelectorAll('input')]
      .filter(({ checked }) => checked)
      .map(({ value }) => value);
  }

  #form(): HTMLFormElement {
    const input = element('input', { type: 'text', spellcheck: 'false', required: true });
    const field = element('label', { class: 'field grows' }, element('span', {}, 'Task ID'), input);
    const form = element(
      'form',
      { class: 'row' },
      field,
      element('button', { type: 'submit' }, 'Add task'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#add(input.value);
      input.value = '';
      this.#onChange();
    });
    return form;
  }

  /** Adds a checked task, or checks an existing one. */
  #add(id: string): void {
    const known = [...this.#items.querySelectorAll('input')].find(({ value }) => value === id);
    const tick = known ?? element('input', { type: 'checkbox', value: id });
    tick.checked = true;
    if (known !== undefined) return;
    const label = element('label', { class: 'tick' }, tick, element('span', { class: 'name' }, id));
    this.#items.append(element('li', { 'data-key': id }, label));
  }
}
