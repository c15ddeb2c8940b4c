import type { ChangeEvent } from '../../model/event.js';
import type { TaskState } from '../../model/task.js';
import { runCallback } from '../callback.js';

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
  /** Called when the list of event types may have changed (MCP Events). */
  events?: () => unknown;
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
  readonly #onError: (error: unknown) => void;
  readonly #pending = new Map<string, CoalescedTask>();
  readonly #tasks = new Map<string, TaskState>();

  constructor(handler: WatchHandler, onError: (error: unknown) => void) {
    this.#handler = handler;
    this.#onError = onError;
  }

  /** Calls the handlers of all events, which are those of everything that is honored. */
  all(events: Iterable<ChangeEvent>): void {
    if (typeof this.#handler === 'function') this.#request('', this.#handler);
    else for (const event of events) this.changed(event);
  }

  /** Calls the handler of one event. */
  changed(event: ChangeEvent): void {
    const handler = this.#handler;
    if (typeof handler === 'function') this.#request('', handler);
    else if (event.kind === 'tools_list_changed') this.#request(event.kind, handler.tools);
    else if (event.kind === 'prompts_list_changed') this.#request(event.kind, handler.prompts);
    else if (event.kind === 'resources_list_changed') this.#request(event.kind, handler.resources);
    else if (event.kind === 'events_list_changed') this.#request(event.kind, handler.events);
    else if (event.kind === 'resource_updated')
      this.#request(`resource ${event.uri}`, () => handler.resource?.(event.uri));
    else this.#task(handler, event.task);
  }

  /** Calls the task handler with the latest state only. */
  #task(handler: WatchHandlers, task: TaskState): void {
    this.#tasks.set(task.taskId, task);
    this.#request(`task ${task.taskId}`, () => {
      const latest = this.#tasks.get(task.taskId);
      this.#tasks.delete(task.taskId);
      return latest && handler.task?.(latest);
    });
  }

  #request(key: string, task: (() => unknown) | undefined): void {
    if (task === undefined) return;
    const known = this.#pending.get(key);
    const pending =
      known ?? new CoalescedTask(task, this.#onError, () => this.#pending.delete(key));
    this.#pending.set(key, pending);
    pending.request();
  }
}

/** Runs a task on request, one run at a time. Requests during a run cause one more run. */
export class CoalescedTask {
  readonly #task: () => unknown;
  readonly #onError: (error: unknown) => void;
  readonly #onIdle: () => void;
  #isRunning = false;
  #isAsked = false;

  /** `onIdle` is called when no run is pending. */
  constructor(task: () => unknown, onError: (error: unknown) => void, onIdle: () => void) {
    this.#task = task;
    this.#onError = onError;
    this.#onIdle = onIdle;
  }

  /** Requests another run. */
  request(): void {
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
        runCallback(() => this.#onError(error));
      }
    }
    this.#isRunning = false;
    this.#onIdle();
  }
}
