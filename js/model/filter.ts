/**
 * The notifications that a subscription requests, or the subset that is honored (2026-07-28,
 * Subscriptions: Notification Filter).
 */
export interface SubscriptionFilter {
  /** Changes of the list of tools. */
  toolsListChanged?: boolean;
  /** Changes of the list of prompts. */
  promptsListChanged?: boolean;
  /** Changes of the list of resources. */
  resourcesListChanged?: boolean;
  /** Changes of the list of event types (Events extension, SEP-3415). */
  eventsListChanged?: boolean;
  /** Updates of these resources, by exact URI. */
  resourceSubscriptions?: string[];
  /** States of these tasks, by exact id (Tasks extension, SEP-2663). */
  taskIds?: string[];
}

/**
 * The lists of a server: the member of a filter that requests the changes of a list, and the kind
 * of the events that report them.
 */
export const LISTS = [
  { member: 'toolsListChanged', kind: 'tools_list_changed' },
  { member: 'promptsListChanged', kind: 'prompts_list_changed' },
  { member: 'resourcesListChanged', kind: 'resources_list_changed' },
  { member: 'eventsListChanged', kind: 'events_list_changed' },
] as const;

/** Returns the union of two filters, in an order that does not depend on theirs. */
export function union(left: SubscriptionFilter, right: SubscriptionFilter): SubscriptionFilter {
  const both: SubscriptionFilter = {};
  for (const { member } of LISTS) if (left[member] || right[member]) both[member] = true;
  for (const names of ['resourceSubscriptions', 'taskIds'] as const) {
    const all = new Set([...(left[names] ?? []), ...(right[names] ?? [])]);
    if (all.size > 0) both[names] = [...all].sort();
  }
  return both;
}

/** Whether `whole` accepts everything that `part` accepts. */
export function covers(whole: SubscriptionFilter, part: SubscriptionFilter): boolean {
  return JSON.stringify(union(whole, part)) === JSON.stringify(union(whole, {}));
}
