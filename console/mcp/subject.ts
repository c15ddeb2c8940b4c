import type { ChangeEvent } from 'mcp-listen';

/**
 * What a cue or an event is about, as one text: `tools`, `prompts`, `resources`, a URI, or `task
 * <id>`.
 */
export type Subject = string;

/** What an event is about. */
export function subjectOfEvent(event: ChangeEvent): Subject {
  switch (event.kind) {
    case 'tools_list_changed':
      return 'tools';
    case 'prompts_list_changed':
      return 'prompts';
    case 'resources_list_changed':
      return 'resources';
    case 'resource_updated':
      return event.uri;
    case 'task_status':
      return subjectOfTask(event.task.taskId);
  }
}

/** What the state of a task is about. */
export function subjectOfTask(taskId: string): Subject {
  return `task ${taskId}`;
}

/** What a notification is about; undefined where it is no cue. */
export function subjectOfNotification(
  method: string,
  params: Record<string, unknown>,
): Subject | undefined {
  if (method === 'notifications/resources/updated') return String(params['uri']);
  if (method === 'notifications/tasks') return subjectOfTask(String(params['taskId']));
  return LISTS[method];
}

const LISTS: Partial<Record<string, Subject>> = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resources',
};
