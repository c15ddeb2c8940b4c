import { type ChangeEvent, EVENT_TYPES_URI } from '../../model/event.js';
import { LISTS, type SubscriptionFilter } from '../../model/filter.js';

/**
 * What a stream subscribes to: a list, one resource, or one task. Except for a task, a topic is the
 * event that reports a change of it, so it can be published as it is.
 */
export type Topic =
  | Exclude<ChangeEvent, { kind: 'task_status' }>
  | {
      kind: 'task_status';
      /** The id of the task. */
      taskId: string;
    };

/** Returns the text of a topic, as the core writes it. */
export function textOfTopic(topic: Topic): string {
  switch (topic.kind) {
    case 'resource_updated':
      return `${RESOURCE}${topic.uri}`;
    case 'task_status':
      return `${TASK}${topic.taskId}`;
    default:
      return TEXTS[topic.kind];
  }
}

/** Returns the topic with this text. */
export function topicOf(text: string): Topic {
  const list = LISTS.find(({ kind }) => TEXTS[kind] === text);
  if (list !== undefined) return { kind: list.kind };
  if (text.startsWith(TASK)) return { kind: 'task_status', taskId: text.slice(TASK.length) };
  return { kind: 'resource_updated', uri: text.slice(RESOURCE.length) };
}

/** Returns the texts of the topics of a filter, except those that only streams of Events have. */
export function topicsOf(filter: SubscriptionFilter): string[] {
  const { resourceSubscriptions = [], taskIds = [] } = filter;
  // Streams of Events follow that URI and the name of a type.
  const uris = resourceSubscriptions.filter((uri) => !uri.startsWith(EVENT_TYPES_URI));
  return [
    ...LISTS.filter(({ member }) => filter[member]).map(({ kind }) => TEXTS[kind]),
    ...uris.map((uri) => `${RESOURCE}${uri}`),
    ...taskIds.map((id) => `${TASK}${id}`),
  ];
}

/** Returns a filter without the topics with these texts. */
export function withoutTopics<Filter extends SubscriptionFilter>(
  filter: Filter,
  texts: readonly string[],
): Filter {
  const without = new Set(texts);
  const { resourceSubscriptions, taskIds } = filter;
  const rest: Filter = { ...filter };
  for (const { kind, member } of LISTS) if (without.has(TEXTS[kind])) delete rest[member];
  if (resourceSubscriptions !== undefined)
    rest.resourceSubscriptions = resourceSubscriptions.filter(
      (uri) => !without.has(`${RESOURCE}${uri}`),
    );
  if (taskIds !== undefined) rest.taskIds = taskIds.filter((id) => !without.has(`${TASK}${id}`));
  return rest;
}

const RESOURCE = 'resource:';
const TASK = 'task:';
/** The texts of the topics of lists. */
const TEXTS = {
  tools_list_changed: 'tools',
  prompts_list_changed: 'prompts',
  resources_list_changed: 'resources',
  events_list_changed: `${RESOURCE}${EVENT_TYPES_URI}`,
};
