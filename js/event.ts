import { calling } from './error.js';
import type { TaskState } from './task.js';
import { normalizeEvent } from './wasm.js';

/**
 * A change that a server publishes: the events of the official TypeScript SDK's `ServerEventBus`, and
 * those of tasks. A `uri` is an opaque, non-empty string of at most 2,048 bytes without control
 * characters; a `task` has at most 16,384 bytes as JSON.
 */
export type ServerEvent =
  | { kind: 'tools_list_changed' }
  | { kind: 'prompts_list_changed' }
  | { kind: 'resources_list_changed' }
  | { kind: 'resource_updated'; uri: string }
  | { kind: 'task_status'; task: TaskState };

/**
 * The event as compact JSON text.
 *
 * @throws ListenError with `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
 */
export function eventText(event: ServerEvent): string {
  return calling(() => normalizeEvent(JSON.stringify(event) ?? ''));
}
