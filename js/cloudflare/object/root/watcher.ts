import type { SubscriptionFilter } from '../../../model/filter.js';

/** A bus, as something sees it that brings it changes from elsewhere. */
export interface WatchedBus {
  /** What all its streams want together. */
  readonly wanted: SubscriptionFilter;
  /** Publishes events, each given as JSON text. */
  publishAll(events: string[]): Promise<number>;
  /** Calls `alarm` of the watcher at `at` or before, even where the object has been forgotten meanwhile. */
  wakeBy(at: number): Promise<void>;
}

/** Brings changes to a bus from elsewhere, while somebody wants them. */
export interface BusWatcher {
  /** What is wanted may have changed. */
  stir(): void;
  /** The alarm has rung. */
  alarm(): Promise<void>;
}

/** Makes the watcher of the bus of this name; undefined: it has none. */
export type WatcherMaker = (busName: string, bus: WatchedBus) => BusWatcher | undefined;

/** Two filters as one, in an order that does not depend on theirs. */
export function together(one: SubscriptionFilter, other: SubscriptionFilter): SubscriptionFilter {
  const lists = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;
  const both: SubscriptionFilter = {};
  for (const list of lists) if (one[list] || other[list]) both[list] = true;
  for (const names of ['resourceSubscriptions', 'taskIds'] as const) {
    const all = new Set([...(one[names] ?? []), ...(other[names] ?? [])]);
    if (all.size > 0) both[names] = [...all].sort();
  }
  return both;
}

/** Whether everything that `part` accepts is accepted by `whole`. */
export function covers(whole: SubscriptionFilter, part: SubscriptionFilter): boolean {
  return JSON.stringify(together(whole, part)) === JSON.stringify(together(whole, {}));
}
