import { EVENT_TYPES_URI } from '../../model/event.js';
import type { TopicListeners } from '../../model/stats/snapshot.js';
import type { Listeners } from './operator.js';

/** Returns the sum of the streams of each topic, largest first: topics, and those of callers. */
export function sumListeners(lists: Iterable<Listeners>): {
  topics: TopicListeners[];
  callers: TopicListeners[];
} {
  const sums = new Map<string, number>();
  for (const list of lists)
    for (const [topic, streams] of list) sums.set(topic, (sums.get(topic) ?? 0) + streams);
  const all = [...sums].map(([topic, streams]) => ({
    topic: topic === EVENT_TYPES ? 'events' : topic,
    streams,
  }));
  all.sort((one, other) => other.streams - one.streams || (one.topic < other.topic ? -1 : 1));
  return {
    topics: all.filter(({ topic }) => !isOfCallers(topic)).slice(0, MAX_TOPICS),
    callers: all.filter(({ topic }) => isOfCallers(topic)).slice(0, MAX_TOPICS),
  };
}

/** Parses the topics that the core has listed, each with the number of its streams. */
export function listenersOf(text: string): Listeners {
  return JSON.parse(text) as Listeners;
}

function isOfCallers(topic: string): boolean {
  return /^(?:principal|group):/.test(topic);
}

/** The list of event types as a topic of the core. */
const EVENT_TYPES = `resource:${EVENT_TYPES_URI}`;
/** Maximum topics of a snapshot, and of the report of each isolate. */
export const MAX_TOPICS = 50;
