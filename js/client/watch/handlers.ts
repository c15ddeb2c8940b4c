import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { TaskState } from '../../model/task.js';
import { subjectsOf } from '../../wasm/client/bindings.js';

/**
 * Handlers that read changed data again. Calls for one topic never overlap: changes during a call
 * cause one more call.
 */
export interface WatchHandlers {
  /** Called when the list of tools may have changed. */
  tools?: () => unknown;
  /** Called when the list of prompts may have changed. */
  prompts?: () => unknown;
  /** Called when the list of resources may have changed. */
  resources?: () => unknown;
  /**
   * Called when the content of a resource, or of a part of a subscribed resource, may have changed.
   */
  resource?: (uri: string) => unknown;
  /** Called with the latest state of a task. */
  task?: (task: TaskState) => unknown;
}

/** One function for all changes, or one for each kind of change. */
export type WatchHandler = (() => unknown) | WatchHandlers;

/** Calls the handlers, one call at a time for each topic. */
export class Handlers {
  readonly #handler: WatchHandler;
  readonly #failed: (error: unknown) => void;
  readonly #refetches = new Map<string, CoalescedTask>();
  readonly #tasks = new Map<string, TaskState>();

  constructor(handler: WatchHandler, failed: (error: unknown) => void) {
    this.#handler = handler;
    this.#failed = failed;
  }

  /** Calls the handlers of everything that is honored. */
  all(honored: SubscriptionFilter): void {
    if (typeof this.#handler === 'function') this.#ask('', this.#handler);
    else for (const text of subjectsOf(JSON.stringify(honored))) this.changed(JSON.parse(text));
  }

  /** Calls the handler of one event. */
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

  /** Calls the task handler with the latest state only. */
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

/** Runs a task on request, one run at a time. Requests during a run cause one more run. */
export class CoalescedTask {
  readonly #task: () => unknown;
  readonly #failed: (error: unknown) => void;
  readonly #rests: () => void;
  #isRunning = false;
  #isAsked = false;

  /** `rests` is called when no run is pending. */
  constructor(task: () => unknown, failed: (error: unknown) => void, rests: () => void) {
    this.#task = task;
    this.#failed = failed;
    this.#rests = rests;
  }

  /** Requests another run. */
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
