import type { TaskState } from 'mcp-listen';

/** A change of a task: its outcome, or the requests to its client before that. */
export type Change = TaskState extends infer State
  ? State extends { status: string }
    ? Omit<State, Fixed>
    : never
  : never;

type Fixed = 'taskId' | 'createdAt' | 'lastUpdatedAt' | 'ttlMs' | 'pollIntervalMs';

/** Tasks in the memory of a process or an object. Each change is published with the whole state. */
export class Tasks {
  readonly #publish: (task: TaskState) => Promise<void>;
  readonly #tasks = new Map<string, TaskState>();

  constructor(publish: (task: TaskState) => Promise<void>) {
    this.#publish = publish;
  }

  /** The state of a task; `undefined` where there is none of this id. */
  get(taskId: string): TaskState | undefined {
    return this.#tasks.get(taskId);
  }

  /** Begins a task in this state. */
  begin(change: Change): TaskState {
    const at = new Date().toISOString();
    const fixed = {
      taskId: crypto.randomUUID(),
      createdAt: at,
      lastUpdatedAt: at,
      ttlMs: 600_000,
      pollIntervalMs: 100,
    };
    const task = { ...fixed, ...change } as TaskState;
    this.#tasks.set(task.taskId, task);
    return task;
  }

  /** Changes a task that has not ended. */
  async change(taskId: string, change: Change): Promise<void> {
    const task = this.#tasks.get(taskId);
    if (task === undefined || !['working', 'input_required'].includes(task.status)) return;
    const { createdAt, ttlMs, pollIntervalMs } = task;
    const lastUpdatedAt = new Date().toISOString();
    const changed = {
      taskId,
      createdAt,
      lastUpdatedAt,
      ttlMs,
      pollIntervalMs,
      ...change,
    } as TaskState;
    this.#tasks.set(taskId, changed);
    await this.#publish(changed);
  }

  /** Records the responses to requests of a task, which completes with the last one. */
  async respond(taskId: string, given: string[]): Promise<void> {
    const task = this.#tasks.get(taskId);
    if (task?.status !== 'input_required') return;
    const open = Object.entries(task.inputRequests).filter(([key]) => !given.includes(key));
    const inputRequests = Object.fromEntries(open);
    await this.change(
      taskId,
      open.length > 0
        ? { status: 'input_required', inputRequests }
        : { status: 'completed', result: text('confirmed') },
    );
  }
}

/** The result of a tool: one text. */
export function text(content: string, isError = false): { content: object[]; isError: boolean } {
  return { content: [{ type: 'text', text: content }], isError };
}
