import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import { element, write } from '../dom.js';
import type { Wish } from './filter.js';

/**
 * One thing that a subscription asked for: whether it is honored and, of a task, its latest state.
 */
export class WishItem {
  readonly item: HTMLLIElement;
  readonly #wish: Wish;
  readonly #verdict = element('span', { class: 'unseen' });
  readonly #task = element('span', { class: 'task-state' });

  constructor(wish: Wish) {
    this.#wish = wish;
    this.item = element('li', {}, element('span', { class: 'wish' }, wish.label), this.#verdict);
    if (wish.taskId !== undefined)
      this.item.append(element('span', { class: 'unseen' }, ', '), this.#task);
  }

  /** Shows what is honored, and the latest states of tasks by their ids. */
  paint(honored: SubscriptionFilter | undefined, tasks: ReadonlyMap<string, TaskState>): void {
    const judgment =
      honored === undefined ? 'asked' : this.#wish.isIn(honored) ? 'honored' : 'refused';
    this.item.dataset['judgment'] = judgment;
    write(this.#verdict, VERDICTS[judgment]);
    this.item.title = TITLES[judgment];
    const { taskId } = this.#wish;
    if (taskId !== undefined) this.#paintTask(tasks.get(taskId));
  }

  #paintTask(task: TaskState | undefined): void {
    const { status = 'none', statusMessage } = task ?? {};
    this.#task.dataset['status'] = status;
    write(
      this.#task,
      task === undefined ? 'no state yet' : [status, statusMessage].filter(Boolean).join(': '),
    );
  }
}

const VERDICTS = { asked: ', not yet answered', honored: ', honored', refused: ', not honored' };
const TITLES = {
  asked: 'Requested',
  honored: 'Requested and honored',
  refused: 'Requested, not honored',
};
