import { element, setText } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import { text } from '../mcp/json.js';
import { nameForm } from './name-form.js';

/**
 * The tasks to subscribe to, with their states. No request lists them, so they come from calls of
 * tools, and the user enters other ids.
 */
export class TaskGroup {
  readonly group: HTMLElement;
  readonly #items = element('ul', { class: 'items' });
  readonly #endpoint: Endpoint;
  readonly #onChange: () => void;

  /** @param onChange - called when a task was added. */
  constructor(endpoint: Endpoint, onChange: () => void) {
    this.#endpoint = endpoint;
    this.#onChange = onChange;
    const title = element('span', { class: 'title' }, 'Tasks');
    const texts = { label: 'Task ID', button: 'Add task' };
    this.group = element(
      'div',
      { class: 'group', role: 'group', 'aria-label': 'Tasks' },
      element('div', { class: 'list-head' }, title),
      this.#items,
      element('p', { class: 'note none' }, NO_TASKS_TEXT),
      nameForm(texts, (id) => this.add(id)),
    );
  }

  /** The ids of the checked tasks. */
  get ticked(): string[] {
    return [...this.#items.querySelectorAll('input')]
      .filter(({ checked }) => checked)
      .map(({ value }) => value);
  }

  /** Adds a checked task, or checks an existing one. */
  add(id: string): void {
    const known = [...this.#items.querySelectorAll('input')].find(({ value }) => value === id);
    const tick = known ?? element('input', { type: 'checkbox', value: id });
    tick.checked = true;
    if (known === undefined) this.#items.append(this.#row(id, tick));
    this.#onChange();
  }

  #row(id: string, tick: HTMLInputElement): HTMLLIElement {
    const state = element('span', { class: 'about', role: 'status' });
    const label = element(
      'label',
      { class: 'tick' },
      tick,
      element('span', { class: 'name' }, id),
      state,
    );
    const ask = (method: string, title: string) => {
      const button = element('button', { type: 'button', class: 'quiet' }, title);
      button.setAttribute('aria-label', `${title} task ${id}`);
      button.addEventListener('click', () => void this.#ask(method, id, state));
      return button;
    };
    return element(
      'li',
      { 'data-key': id },
      label,
      ask('tasks/get', 'Get'),
      ask('tasks/cancel', 'Cancel'),
    );
  }

  async #ask(method: string, taskId: string, state: HTMLElement): Promise<void> {
    try {
      const result = await this.#endpoint.request(method, { taskId });
      const status = text(result['status']) ?? 'accepted';
      const message = text(result['statusMessage']);
      setText(state, message === undefined ? status : `${status}: ${message}`);
    } catch (error) {
      setText(state, error instanceof Error ? error.message : String(error));
    }
  }
}

/** Shown while there are no tasks. */
const NO_TASKS_TEXT =
  'Call a tool that creates a task, or add the id of one: then you can subscribe to its states.';
