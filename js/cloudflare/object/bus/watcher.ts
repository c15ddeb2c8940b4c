import type { SubscriptionFilter } from '../../../model/filter.js';

/** The bus as its watcher sees it. */
export interface WatchedBus {
  /** The union of what all streams of the bus want. */
  readonly wanted: SubscriptionFilter;
  /** Publishes events, each given as JSON text. */
  publishAll(events: string[]): Promise<number>;
  /**
   * Calls `alarm` of the watcher at `at` (milliseconds since 1970) or before, even if the object
   * was evicted meanwhile.
   */
  wakeBy(at: number): Promise<void>;
}

/** Publishes changes of another server to a bus while its streams want them. */
export interface BusWatcher {
  /** Called when `wanted` of the bus may have changed. */
  wantedChanged(): void;
  /** Called when the alarm fires. */
  alarm(): Promise<void>;
}

/** Creates the watcher of the bus of this name; undefined if it has none. */
export type WatcherMaker = (busName: string, bus: WatchedBus) => BusWatcher | undefined;

/** Returns a watcher that calls all of these. */
export function watchers(all: readonly BusWatcher[]): BusWatcher | undefined {
  if (all.length < 2) return all[0];
  return {
    wantedChanged: () => {
      for (const watcher of all) watcher.wantedChanged();
    },
    alarm: async () => {
      for (const watcher of all) await watcher.alarm();
    },
  };
}
