import type { SubscriptionFilter } from 'mcp-listen';
import { topicOfTask } from '../mcp/topic.js';

/** One topic of a filter. */
export interface FilterItem {
  /** The text that the page shows. */
  label: string;
  /** Returns whether a filter contains it. */
  isIn: (filter: SubscriptionFilter) => boolean;
  /** The id of the task; undefined if it is not a task. */
  taskId?: string;
}

/** Returns the topics of a filter. */
export function filterItems(filter: SubscriptionFilter): FilterItem[] {
  const lists = LISTS.filter(([key]) => filter[key]).map(([key, label]) => ({
    label,
    isIn: (other: SubscriptionFilter) => other[key] === true,
  }));
  const uris = (filter.resourceSubscriptions ?? []).map((uri) => ({
    label: uri,
    isIn: (other: SubscriptionFilter) => other.resourceSubscriptions?.includes(uri) === true,
  }));
  const tasks = (filter.taskIds ?? []).map((taskId) => ({
    label: topicOfTask(taskId),
    isIn: (other: SubscriptionFilter) => other.taskIds?.includes(taskId) === true,
    taskId,
  }));
  return [...lists, ...uris, ...tasks];
}

/** Returns whether a filter contains the topic of a cue. */
export function accepts(filter: SubscriptionFilter | undefined, topic: string): boolean {
  const list = LISTS.find(([, , name]) => name === topic);
  if (list !== undefined) return filter?.[list[0]] === true;
  const isTask = filter?.taskIds?.some((taskId) => topicOfTask(taskId) === topic) === true;
  return isTask || filter?.resourceSubscriptions?.includes(topic) === true;
}

const LISTS = [
  ['toolsListChanged', 'tools list', 'tools'],
  ['promptsListChanged', 'prompts list', 'prompts'],
  ['resourcesListChanged', 'resources list', 'resources'],
  ['eventsListChanged', 'event types list', 'events'],
] as const;
