import type { CoreEnd } from '../../model/client-error.js';
import type { ChangeEvent as ServerEvent } from '../../model/event.js';
import type { SubscriptionFilter } from '../../model/filter.js';

/** `connecting`: asked for; `live`: open; `waiting`: for the next attempt; `stopped`: there will be none. */
export type WatchState = 'connecting' | 'live' | 'waiting' | 'stopped';

/** Where a watch stands. */
export interface WatchStanding {
  state: WatchState;
  /** What the server honors, while it is live. */
  honored?: SubscriptionFilter;
  /** How the last subscription ended, until there is another. */
  end?: CoreEnd;
  /** How often it was opened again. */
  reconnects: number;
}

/** What a watch has to tell: where it stands now, or that something changed. */
export type WatchNews =
  | { kind: 'standing'; standing: WatchStanding; cause?: unknown }
  | { kind: 'changed'; event: ServerEvent };

/** Whom a watch tells. */
export type Tell = (news: WatchNews) => void;

/** What keeps a subscription open. */
export interface WatchLine {
  stop(): void;
}
