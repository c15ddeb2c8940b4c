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
  /** Updates of these resources, by exact URI. */
  resourceSubscriptions?: string[];
  /** States of these tasks, by exact id (Tasks extension, SEP-2663). */
  taskIds?: string[];
}
