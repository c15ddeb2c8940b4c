import { element } from '../dom.js';
import { nameForm } from './name-form.js';

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
    const texts = { label: 'Task ID', button: 'Add task' };
    const form = nameForm(texts, (id) => {
      this.#add(id);
      this.#onChange();
    });
    this.group.append(form);
  }

  /** The ids of the checked tasks. */
  get ticked(): string[] {
    return [...this.#items.querySelectorAll('input')]
      .filter(({ checked }) => checked)
      .map(({ value }) => value);
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
