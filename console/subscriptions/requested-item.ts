import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import { element, setText } from '../dom.js';
import type { FilterItem } from './filter.js';

/**
 * A requested topic of a subscription: whether it is honored and, for a task, its latest state.
 */
export class RequestedItem {
  readonly item: HTMLLIElement;
  readonly #requested: FilterItem;
  readonly #outcome = element('span', { class: 'visually-hidden' });
  readonly #task = element('span', { class: 'task-state' });

  constructor(requested: FilterItem) {
    this.#requested = requested;
    this.item = element(
      'li',
      {},
      element('span', { class: 'topic' }, requested.label),
      this.#outcome,
    );
    if (requested.taskId !== undefined)
      this.item.append(element('span', { class: 'visually-hidden' }, ', '), this.#task);
  }

  /** Shows whether the topic is honored; `tasks` are the latest states by task id. */
  paint(honored: SubscriptionFilter | undefined, tasks: ReadonlyMap<string, TaskState>): void {
    const outcome =
      honored === undefined ? 'pending' : this.#requested.isIn(honored) ? 'honored' : 'refused';
    this.item.dataset['outcome'] = outcome;
    setText(this.#outcome, OUTCOME_TEXTS[outcome]);
    this.item.title = TITLES[outcome];
    const { taskId } = this.#requested;
    if (taskId !== undefined) this.#paintTask(tasks.get(taskId));
  }

  #paintTask(task: TaskState | undefined): void {
    const { status = 'none', statusMessage } = task ?? {};
    this.#task.dataset['status'] = status;
    setText(
      this.#task,
      task === undefined ? 'no state yet' : [status, statusMessage].filter(Boolean).join(': '),
    );
  }
}

const OUTCOME_TEXTS = {
  pending: ', not yet acknowledged',
  honored: ', honored',
  refused: ', not honored',
};
const TITLES = {
  pending: 'Requested',
  honored: 'Requested and honored',
  refused: 'Requested, not honored',
};
