import type { ListenBus } from './bus/bus.js';
import type { TaskState } from './task.js';

/**
 * Tells listeners that something changed. Each call resolves once the change is with the bus, is safe
 * when nobody listens, and rejects with a `ListenError` when the bus did not take it.
 */
export interface Notifier {
  /** The list of tools changed. */
  toolsChanged(): Promise<void>;
  /** The list of prompts changed. */
  promptsChanged(): Promise<void>;
  /** The list of resources changed. */
  resourcesChanged(): Promise<void>;
  /** The content of the resource `uri` changed. */
  resourceUpdated(uri: string): Promise<void>;
  /** The state of a task changed; `task` is the whole state as it is now. */
  taskStatus(task: TaskState): Promise<void>;
}

/** The notifier that publishes on `bus`. */
export function notifierOn(bus: ListenBus): Notifier {
  return {
    toolsChanged: () => bus.publish({ kind: 'tools_list_changed' }),
    promptsChanged: () => bus.publish({ kind: 'prompts_list_changed' }),
    resourcesChanged: () => bus.publish({ kind: 'resources_list_changed' }),
    resourceUpdated: (uri) => bus.publish({ kind: 'resource_updated', uri }),
    taskStatus: (task) => bus.publish({ kind: 'task_status', task }),
  };
}
