import type { SubscriptionFilter } from '../../model/filter.js';
import type { Bus } from '../../wasm/server/bindings.js';
import { topicsOf } from './topic.js';

/** The topics that streams may have begun or ceased to have. */
export interface WantedChange {
  topics: string[];
  /** Whether any other topic may have changed too: `topics` are then all that streams have. */
  isWhole: boolean;
}

/** Returns what streams subscribe to at a bus. */
export function wantedOf(core: Bus): SubscriptionFilter {
  return JSON.parse(core.wanted(false, Date.now()) ?? '{}') as SubscriptionFilter;
}

/** Returns what has changed at a bus since the last call. */
export function wantedChange(core: Bus): WantedChange {
  const change = core.wanted(true, Date.now());
  if (change === undefined) return { topics: topicsOf(wantedOf(core)), isWhole: true };
  return { topics: topicsOf(JSON.parse(change) as SubscriptionFilter), isWhole: false };
}
