import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { CoreEnd } from '../../model/subscription-error.js';
import type { WatchState } from '../watch-state.js';

/** The status of a watch. */
export interface WatchStatus {
  state: WatchState;
  /** The part of the filter that the server honors, while the state is `live`. */
  honored?: SubscriptionFilter;
  /** How the last subscription ended, until the next one opens. */
  end?: CoreEnd;
  /** How often the subscription was reopened. */
  reconnects: number;
}

/** A change of status, or an event. */
export type WatchEvent =
  | { kind: 'status'; status: WatchStatus; cause?: unknown }
  | { kind: 'changed'; event: ChangeEvent };

/** Handles the events of a watch. */
export type Emit = (event: WatchEvent) => void;

/** Keeps a subscription open. */
export interface WatchSource {
  stop(): void;
}
