/** What a server's streams are doing, and what they went through since it began. */
export interface ListenStats {
  /** Streams open now. */
  open: number;
  /** Those of them whose bus is away: they stay open, and hear what they missed when it is back. */
  away: number;
  /** Streams opened so far. */
  opened: number;
  /** Requests refused so far, by what was wrong with them. */
  refused: Readonly<Record<RefusalKind, number>>;
  /** How often a stream lost its bus. */
  outages: number;
  /** How often a stream lost its bus and was attached again. */
  healed: number;
  /** How often something was found missing, out of order or broken between the bus and a stream. */
  gaps: number;
  /** How often nobody could tell what a stream had missed, so that it cued everything it honors. */
  resyncs: number;
  /** Events that streams honored, once for each stream. */
  events: number;
  /** Notifications written. */
  notifications: number;
  /** Events told together with an earlier one of the same list, URI or task, which still waited for its reader. */
  collapsed: number;
  /** Sum of the milliseconds from publish to write, over all notifications in `written`. */
  writeDelayMs: number;
  /**
   * Number of notifications by their milliseconds from publish to write. Each entry counts those of
   * at most `le` that are above the `le` of the entry before it. The last `le` is Infinity, which
   * JSON has as null. Notifications that make up for a gap have no such time.
   */
  written: readonly WriteDelayCount[];
  /** How many streams have ended for each reason. */
  ended: Readonly<Record<StreamEnding, number>>;
}

/** How many notifications were written within a time after their publish. */
export interface WriteDelayCount {
  /** The upper bound of the time, in milliseconds. */
  le: number;
  /** The number of notifications. */
  count: number;
}

/**
 * Why a stream ended: `closed` gracefully, with its result; `left`: its client is gone; `stalled`:
 * its client read nothing for `timeouts.writeMs`; `rotated` at its age; `drained`; `shed`;
 * `expired`: what named its caller holds no longer; `denied`: its caller may not hear any more all
 * it was promised, or nobody could say that it may; `outdated`: the bus object no longer serves its
 * deployment; `exhausted`: the requests that share its socket have spent their processor budget;
 * `lost`: states of its tasks may have been lost; `trapped`: the core trapped, which had it in its
 * memory; `aborted`: its bus let it go, or its reader did not take the end of a drain in time.
 */
export type StreamEnding =
  | 'closed'
  | 'left'
  | 'stalled'
  | 'rotated'
  | 'drained'
  | 'shed'
  | 'expired'
  | 'denied'
  | 'outdated'
  | 'exhausted'
  | 'lost'
  | 'trapped'
  | 'aborted';

/**
 * What is wrong with a request that is refused: `http`: its method or media types; `origin`: host or page; `size`: a limit;
 * `request`: what it says, or a session that is not there or has a stream; `unauthorized`; `forbidden`; `full`: too many streams or
 * sessions; `unavailable`: the bus, the handler or the authorizer; `closing`.
 */
export type RefusalKind =
  | 'http'
  | 'origin'
  | 'size'
  | 'request'
  | 'unauthorized'
  | 'forbidden'
  | 'full'
  | 'unavailable'
  | 'closing';

/**
 * The bounds, in milliseconds, by which the core counts how long it took to write a notification.
 */
export const WRITE_DELAY_BOUNDS = [
  5,
  20,
  100,
  500,
  2_000,
  10_000,
  Number.POSITIVE_INFINITY,
] as const;
