/** The current state of a server's streams, and their counters since the server was created. */
export interface ListenStats {
  /** Streams open now. */
  open: number;
  /**
   * Open streams whose bus is unavailable. They stay open and receive what they missed when it is
   * back.
   */
  away: number;
  /** Streams opened so far. */
  opened: number;
  /** Requests refused so far, by kind. */
  refused: Readonly<Record<RefusalKind, number>>;
  /** Number of times a stream lost its bus. */
  outages: number;
  /** Number of times a stream lost its bus and was attached again. */
  healed: number;
  /**
   * Number of times an event between the bus and a stream was missing, out of order or malformed.
   */
  gaps: number;
  /**
   * Number of times a stream was resynced (got one notification for each list and resource that it
   * honors), because missed events could not be determined.
   */
  resyncs: number;
  /** Events that a stream honored, counted once per stream. */
  events: number;
  /** Notifications written. */
  notifications: number;
  /** Events merged into an earlier pending one for the same list, URI or task. */
  collapsed: number;
  /** Sum of the milliseconds from publish to write over all notifications in `written`. */
  writeDelayMs: number;
  /**
   * Number of notifications by their milliseconds from publish to write. Each entry counts those of
   * at most `le` that are above the `le` of the previous entry. The last `le` is Infinity, which is
   * null in JSON. Notifications about missed events are not counted.
   */
  written: readonly WriteDelayCount[];
  /**
   * Number of listen requests that were acknowledged, by the milliseconds that the bus took to
   * confirm the stream, in the same ranges as `written`.
   */
  acknowledged: readonly WriteDelayCount[];
  /** Number of streams that ended, by reason. */
  ended: Readonly<Record<EndReason, number>>;
}

/** Number of notifications, or of acknowledgments, in one range of delays. */
export interface WriteDelayCount {
  /** The upper bound of the time, in milliseconds. */
  le: number;
  /** The number of them. */
  count: number;
}

/**
 * Why a stream ended. `closed`: gracefully, with its result; `left`: its client disconnected;
 * `stalled`: its client read nothing for `timeouts.writeMs`; `rotated`: it reached its maximum age;
 * `drained`: by a drain; `expired`: the credentials of its caller expired; `denied`: its caller may
 * no longer receive everything that the stream acknowledged, or this could not be checked;
 * `outdated`: the bus object no longer serves its deployment; `exhausted`: the requests that share
 * its socket have used up their write budget, or its own request may send few further requests to
 * the upstream server of a gateway; `lost`: states of its tasks may have been lost; `trapped`: the
 * core that held it in memory trapped; `aborted`: its bus released it, its request died without
 * cancelling it, or its client did not read the end of a drain in time.
 */
export type EndReason =
  | 'closed'
  | 'left'
  | 'stalled'
  | 'rotated'
  | 'drained'
  | 'expired'
  | 'denied'
  | 'outdated'
  | 'exhausted'
  | 'lost'
  | 'trapped'
  | 'aborted';

/**
 * Why a request was refused. `http`: its method or media types; `origin`: its host or origin;
 * `size`: a limit; `request`: its content, or a session that does not exist or already has a
 * stream; `unauthorized`; `forbidden`; `full`: too many streams or sessions; `unavailable`: the
 * bus, the handler or the authorizer; `closing`.
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

/** Upper bounds of the core's histogram of write delays, in milliseconds. */
export const WRITE_DELAY_BOUNDS = [
  5,
  20,
  100,
  500,
  2_000,
  10_000,
  Number.POSITIVE_INFINITY,
] as const;
