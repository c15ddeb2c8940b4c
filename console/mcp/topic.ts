import type { ChangeEvent } from 'mcp-listen';

/** The topic of a cue: `tools`, `prompts`, `resources`, `events`, a URI, or `task <id>`. */
export type Topic = string;

/** The changes that a form can publish, with their labels. */
export const CHANGES = [
  ['resource_updated', 'a resource changed'],
  ['tools_list_changed', 'the list of tools changed'],
  ['prompts_list_changed', 'the list of prompts changed'],
  ['resources_list_changed', 'the list of resources changed'],
  ['events_list_changed', 'the list of event types changed'],
] as const;

/** Returns the topic of an event. */
export function topicOfEvent(event: ChangeEvent): Topic {
  switch (event.kind) {
    case 'tools_list_changed':
      return 'tools';
    case 'prompts_list_changed':
      return 'prompts';
    case 'resources_list_changed':
      return 'resources';
    case 'events_list_changed':
      return 'events';
    case 'resource_updated':
      return event.uri;
    case 'task_status':
      return topicOfTask(event.task.taskId);
  }
}

/** Returns the topic of a task. */
export function topicOfTask(taskId: string): Topic {
  return `task ${taskId}`;
}

/** Returns the topic of a notification; undefined if it is not a cue. */
export function topicOfNotification(
  method: string,
  params: Record<string, unknown>,
): Topic | undefined {
  if (method === 'notifications/resources/updated') return String(params['uri']);
  if (method === 'notifications/tasks') return topicOfTask(String(params['taskId']));
  return LISTS[method];
}

const LISTS: Partial<Record<string, Topic>> = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resources',
  'notifications/events/list_changed': 'events',
};
