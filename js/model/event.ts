import type { TaskState } from './task.js';

/**
 * What a server publishes: a change for all streams, a change for one group, or the disconnect
 * of a caller. A receiver ignores an event of an unknown kind. `group` and `principal` follow
 * the same rules as `uri` in {@link ChangeEvent}.
 */
export type ServerEvent = ChangeEvent | GroupEvent | DisconnectEvent;

/** A change that is delivered only to streams whose callers have this group. */
export interface GroupEvent {
  /** Identifies this kind of event. */
  kind: 'for_group';
  /** The group that receives the change. */
  group: string;
  /** The change. */
  event: ChangeEvent;
}

/** Ends the streams of a caller. */
export interface DisconnectEvent {
  /** Identifies this kind of event. */
  kind: 'disconnect';
  /** The name of the caller, as `principal` returned it. */
  principal: string;
}

/**
 * A change: the events of `ServerEventBus` of the official TypeScript SDK, changes of the list of
 * event types, and task states. A `uri` is an opaque, non-empty string of at most 2,048 bytes
 * without control characters. A `task` has at most 16,384 bytes as JSON.
 */
export type ChangeEvent =
  | { kind: 'tools_list_changed' }
  | { kind: 'prompts_list_changed' }
  | { kind: 'resources_list_changed' }
  | { kind: 'events_list_changed' }
  | {
      kind: 'resource_updated';
      /** The URI of the resource. */
      uri: string;
    }
  | {
      kind: 'task_status';
      /** The state of the task. */
      task: TaskState;
    };

/**
 * The URI under which buses carry changes of the list of event types, so that every version
 * forwards them. No resource has it.
 *
 * @internal
 */
export const EVENT_TYPES_URI = 'mcp-event:';
