import type { TaskState } from './task.js';

/**
 * What a server publishes: a change, for everybody or for one audience alone, or that a caller may hear nothing any more. A receiver that
 * does not know a kind passes over the event. An `audience` and a `principal` are texts like a `uri`.
 */
export type ServerEvent = ChangeEvent | AudienceEvent | RevokedEvent;

/** A change that only those streams hear whose callers have this audience. */
export interface AudienceEvent {
  kind: 'for_audience';
  audience: string;
  event: ChangeEvent;
}

/** The streams of a caller end. */
export interface RevokedEvent {
  kind: 'revoked';
  principal: string;
}

/**
 * A change: the events of the official TypeScript SDK's `ServerEventBus`, and
 * those of tasks. A `uri` is an opaque, non-empty string of at most 2,048 bytes without control
 * characters; a `task` has at most 16,384 bytes as JSON.
 */
export type ChangeEvent =
  | { kind: 'tools_list_changed' }
  | { kind: 'prompts_list_changed' }
  | { kind: 'resources_list_changed' }
  | { kind: 'resource_updated'; uri: string }
  | { kind: 'task_status'; task: TaskState };
