import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { TaskState } from '../../model/task.js';
import { subjectsOf } from '../../wasm/client/bindings.js';

/** What to read again; each runs once at a time, and once more for all that changed meanwhile. */
export interface WatchHandlers {
  /** The list of tools may have changed. */
  tools?: () => unknown;
  /** The list of prompts may have changed. */
  prompts?: () => unknown;
  /** The list of resources may have changed. */
  resources?: () => unknown;
  /** The content of a resource, or of a part of one that was asked for, may have changed. */
  resource?: (uri: string) => unknown;
  /** A task has this state now. */
  task?: (task: TaskState) => unknown;
}

/** One function for whatever changes, or one for each kind of change. */
export type WatchHandler = (() => unknown) | WatchHandlers;

/** Calls handlers: of each subject one call at a time. */
export class Handlers {
  readonly #handler: WatchHandler;
  readonly #failed: (error: unknown) => void;
  readonly #refetches = new Map<string, CoalescedTask>();
  readonly #tasks = new Map<string, TaskState>();

  constructor(handler: WatchHandler, failed: (error: unknown) => void) {
    this.#handler = handler;
    this.#failed = failed;
  }

  /** Everything that is honored may have changed. */
  all(honored: SubscriptionFilter): void {
    if (typeof this.#handler === 'function') this.#ask('', this.#handler);
    else for (const text of subjectsOf(JSON.stringify(honored))) this.changed(JSON.parse(text));
  }

  /** One subject changed. */
  changed(event: ChangeEvent): void {
    const handler = this.#handler;
    if (typeof handler === 'function') this.#ask('', handler);
    else if (event.kind === 'tools_list_changed') this.#ask(event.kind, handler.tools);
    else if (event.kind === 'prompts_list_changed') this.#ask(event.kind, handler.prompts);
    else if (event.kind === 'resources_list_changed') this.#ask(event.kind, handler.resources);
    else if (event.kind === 'resource_updated')
      this.#ask(`resource ${event.uri}`, () => handler.resource?.(event.uri));
    else this.#task(handler, event.task);
  }

  /** Of a task the latest state is what its handler is called with. */
  #task(handler: WatchHandlers, task: TaskState): void {
    this.#tasks.set(task.taskId, task);
    this.#ask(`task ${task.taskId}`, () => {
      const latest = this.#tasks.get(task.taskId);
      this.#tasks.delete(task.taskId);
      return latest && handler.task?.(latest);
    });
  }

  #ask(key: string, task: (() => unknown) | undefined): void {
    if (task === undefined) return;
    const known = this.#refetches.get(key);
    const refetch =
      known ?? new CoalescedTask(task, this.#failed, () => this.#refetches.delete(key));
    this.#refetches.set(key, refetch);
    refetch.ask();
  }
}

/** Runs a task again whenever it is asked to: once at a time, and once more for all that was asked meanwhile. */
export class CoalescedTask {
  readonly #task: () => unknown;
  readonly #failed: (error: unknown) => void;
  readonly #rests: () => void;
  #isRunning = false;
  #isAsked = false;

  /** `rests` is called when nothing is left to run. */
  constructor(task: () => unknown, failed: (error: unknown) => void, rests: () => void) {
    this.#task = task;
    this.#failed = failed;
    this.#rests = rests;
  }

  /** Asks for another run. */
  ask(): void {
    this.#isAsked = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      try {
        await this.#task();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isRunning = false;
    this.#rests();
  }
}
