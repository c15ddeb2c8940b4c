import { element } from '../dom.js';
import { nameForm } from './name-form.js';

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
    const texts = { label: 'The id of a task', button: 'Add the task' };
    const form = nameForm(texts, (id) => {
      this.#add(id);
      this.#changed();
    });
    this.group.append(form);
  }

  /** The ids that are ticked. */
  get ticked(): string[] {
    return [...this.#items.querySelectorAll('input')]
      .filter(({ checked }) => checked)
      .map(({ value }) => value);
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
