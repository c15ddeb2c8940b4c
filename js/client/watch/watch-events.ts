import type { ChangeEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { CoreEnd } from '../../model/subscription-error.js';

/** `connecting`: asked for; `live`: open; `waiting`: for the next attempt; `stopped`: there will be none. */
export type WatchState = 'connecting' | 'live' | 'waiting' | 'stopped';

/** Where a watch stands. */
export interface WatchStatus {
  state: WatchState;
  /** What the server honors, while it is live. */
  honored?: SubscriptionFilter;
  /** How the last subscription ended, until there is another. */
  end?: CoreEnd;
  /** How often it was opened again. */
  reconnects: number;
}

/** What a watch has to tell: where it stands now, or that something changed. */
export type WatchEvent =
  | { kind: 'standing'; standing: WatchStatus; cause?: unknown }
  | { kind: 'changed'; event: ChangeEvent };

/** Whom a watch tells. */
export type Emit = (news: WatchEvent) => void;

/** What keeps a subscription open. */
export interface WatchSource {
  stop(): void;
}
