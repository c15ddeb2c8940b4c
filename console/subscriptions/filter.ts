import type { SubscriptionFilter } from 'mcp-listen';
import { subjectOfTask } from '../mcp/subject.js';

/** One thing that a filter asks for. */
export interface Wish {
  /** As the page shows it. */
  label: string;
  /** Whether a filter has it. */
  isIn: (filter: SubscriptionFilter) => boolean;
  /** The id of the task that it is about; undefined: none. */
  taskId?: string;
}

/** What a filter asks for, one by one. */
export function wishesOf(filter: SubscriptionFilter): Wish[] {
  const lists = LISTS.filter(([key]) => filter[key]).map(([key, label]) => ({
    label,
    isIn: (other: SubscriptionFilter) => other[key] === true,
  }));
  const uris = (filter.resourceSubscriptions ?? []).map((uri) => ({
    label: uri,
    isIn: (other: SubscriptionFilter) => other.resourceSubscriptions?.includes(uri) === true,
  }));
  const tasks = (filter.taskIds ?? []).map((taskId) => ({
    label: subjectOfTask(taskId),
    isIn: (other: SubscriptionFilter) => other.taskIds?.includes(taskId) === true,
    taskId,
  }));
  return [...lists, ...uris, ...tasks];
}

/** Whether a filter has what a cue is about. */
export function accepts(filter: SubscriptionFilter | undefined, subject: string): boolean {
  const list = LISTS.find(([, , name]) => name === subject);
  if (list !== undefined) return filter?.[list[0]] === true;
  const isTask = filter?.taskIds?.some((taskId) => subjectOfTask(taskId) === subject) === true;
  return isTask || filter?.resourceSubscriptions?.includes(subject) === true;
}

const LISTS = [
  ['toolsListChanged', 'tools list', 'tools'],
  ['promptsListChanged', 'prompts list', 'prompts'],
  ['resourcesListChanged', 'resources list', 'resources'],
] as const;
