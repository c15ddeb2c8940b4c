import { expectAmounts } from './amount.js';
import { withDefaults } from './limits.js';

/**
 * Timeouts in milliseconds. 0 disables a timeout. A value that is negative or not a number, and an
 * unknown name, is `invalid-options`.
 */
export interface ListenTimeouts {
  /**
   * Milliseconds within which the body of a request that is read here must arrive, up to its limit
   * in bytes. A later body gets 408. 0 disables.
   *
   * @default 10_000
   */
  bodyMs?: number;
  /**
   * Milliseconds that the body of a response to `server/discover`, to `initialize` or to a request
   * of a gateway may take after its header. After that the request gets 504, a listen 503. 0
   * disables.
   *
   * @default 10_000
   */
  responseMs?: number;
  /**
   * Milliseconds that each of `principal` and `authorize` may take. After that the caller gets 503.
   * 0 disables.
   *
   * @default 2_000
   */
  authorizeMs?: number;
  /**
   * Milliseconds that the bus may take to confirm a registration. After that a new stream gets 503.
   * 0 disables.
   *
   * @default 2_900
   */
  attachMs?: number;
  /**
   * Ends a stream without a result (`stalled`) if its client has read nothing for this many
   * milliseconds while data is pending. 0 disables.
   *
   * @default 60_000
   */
  writeMs?: number;
  /**
   * Ends a session of a client of earlier revisions that has had no request and no stream for this
   * many milliseconds; its next request gets 404. 0 disables.
   *
   * @default 1_800_000
   */
  sessionIdleMs?: number;
}

/** The options that are intervals, in milliseconds. */
export interface Intervals {
  keepAliveMs?: number;
  maxConnectionAgeMs?: number;
  authorizationTtlMs?: number;
  busProbeIntervalMs?: number;
}

/**
 * Returns the timeouts, with the default for each undefined member; 0 for a disabled timeout.
 *
 * @throws ListenError `invalid-options`.
 */
export function timeoutsOf(timeouts: ListenTimeouts = {}): Required<ListenTimeouts> {
  const { sessionIdleMs, ...others } = withDefaults('timeouts', DEFAULT_TIMEOUTS, timeouts);
  const timers = Object.entries(others).map(([name, ms]) => [name, timer(ms)]);
  return { ...(Object.fromEntries(timers) as typeof others), sessionIdleMs };
}

/**
 * Returns the intervals of the options, with the default for each undefined one; 0 for a disabled
 * interval.
 *
 * @throws ListenError `invalid-options`.
 */
export function intervalsOf(options: Intervals): Required<Intervals> {
  const { authorizationTtlMs = 30_000, busProbeIntervalMs = 0, keepAliveMs = 15_000 } = options;
  const { maxConnectionAgeMs = 0 } = options;
  expectAmounts('', { authorizationTtlMs, busProbeIntervalMs, keepAliveMs, maxConnectionAgeMs });
  return {
    authorizationTtlMs: timer(authorizationTtlMs),
    busProbeIntervalMs: timer(busProbeIntervalMs),
    keepAliveMs: timer(keepAliveMs),
    maxConnectionAgeMs: timer(maxConnectionAgeMs),
  };
}

/** Returns an interval with +-20 % jitter, so that streams opened together do not tick together. */
export function jittered(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()));
}

/**
 * Converts milliseconds since 1970 to the clock of `performance.now`. Times beyond the range of
 * timers become the latest time that a timer can reach. Undefined remains undefined.
 */
export function toMonotonic(at: number | undefined): number | undefined {
  if (at === undefined) return undefined;
  return performance.now() + Math.max(Math.min(at - Date.now(), MAX_TIMER_MS), 0);
}

/**
 * Returns the delay for a timer; 0 for no timer. Hosts fire timers at once whose delay is too long
 * for them.
 */
export function timer(ms: number): number {
  if (ms === 0 || ms > MAX_TIMER_MS) return 0;
  return Math.max(ms, 1);
}

/** Returns a timeout for code that cannot disable it: 0, or a longer one, is the longest timer. */
export function finiteTimeout(ms: number): number {
  return ms === 0 ? MAX_TIMER_MS : Math.min(ms, MAX_TIMER_MS);
}

/** The longest delay, in milliseconds, that fits a 31-bit timer after jitter. */
export const MAX_TIMER_MS = (2 ** 31 - 1) / 1.2;
/** Milliseconds within which a bus has to deliver what was published before a close. */
export const SETTLE_MS = 1_000;
/** Milliseconds for which a stream that is drained waits for what was published before its turn. */
export const DRAIN_SETTLE_MS = 3_000;
const DEFAULT_TIMEOUTS: Required<ListenTimeouts> = {
  bodyMs: 10_000,
  responseMs: 10_000,
  authorizeMs: 2_000,
  // A refusal is sent within three seconds.
  attachMs: 2_900,
  writeMs: 60_000,
  sessionIdleMs: 1_800_000,
};
