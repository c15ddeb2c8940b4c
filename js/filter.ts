/** What a subscription asks for, or the subset that is honored (2026-07-28, Subscriptions: Notification Filter). */
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

/** What a stream wants of its bus: its filter, and what the server knows of its caller, which is told to no client. */
export interface BusInterest extends SubscriptionFilter {
  /** Events for these audiences are wanted, too; without one, only those that are for everybody. */
  audiences?: string[];
  /** The stream has to hear when one of these callers is revoked. */
  principals?: string[];
}
