import type { ChangeEvent as ServerEvent } from '../event.js';
import type { SubscriptionFilter } from '../filter.js';
import type { CoreEnd } from './error.js';

/** What a subscription has to tell. */
export type News =
  | { kind: 'acknowledged'; honored: SubscriptionFilter }
  | { kind: 'changed'; event: ServerEvent }
  | { kind: 'ended'; end: CoreEnd; cause?: unknown };

/** One subscription, whatever carries it. */
export interface Source {
  /** The id of the listen request as JSON text; empty where there is none. */
  readonly id: string;
  /** The revision that the server speaks; undefined until that is known. */
  readonly version: string | undefined;
  /** How many request ids were given by now. */
  readonly minted: number;
  /** Takes what is to be told next; undefined: nothing now, and `wake` is called when there is. */
  news(): News | undefined;
  /** Called when there may be news. */
  wake: () => void;
  /** Gives it up, and tells the server. */
  close(): void;
}
