import { expectAmounts } from './amount.js';
import { withDefaults } from './limits.js';

/**
 * How long things may take, in milliseconds. 0 disables a timeout. A value that is negative or no
 * number, and a name that no timeout has, is `invalid-options`.
 */
export interface ListenTimeouts {
  /**
   * How long a request body that is read here may take to arrive, up to its limit in bytes. A later
   * one gets 408. 0 disables.
   *
   * @default 10_000
   */
  bodyMs?: number;
  /**
   * How long the body of an answer to `server/discover`, `initialize` or a question of a gateway
   * may take, after its head. The request gets 504 after that, a listen 503. 0 disables.
   *
   * @default 10_000
   */
  answerMs?: number;
  /**
   * How long `principal` and `authorize` may take, each. A caller gets 503 after that. 0 disables.
   *
   * @default 2_000
   */
  authorizeMs?: number;
  /**
   * How long the bus may take to confirm a registration. A new stream gets 503 after that. 0
   * disables.
   *
   * @default 3_000
   */
  attachMs?: number;
  /**
   * How long a client may read nothing while data is pending, before its stream ends without
   * a result (`stalled`). 0 disables.
   *
   * @default 60_000
   */
  writeMs?: number;
  /**
   * How long a session of a client of earlier revisions may have no request and no stream, before
   * it ends: its next request gets 404. 0 disables.
   *
   * @default 1_800_000
   */
  sessionIdleMs?: number;
}

/** What of the options is an interval, in milliseconds. */
export interface Intervals {
  keepAliveMs?: number;
  maxConnectionAgeMs?: number;
  authorizationTtlMs?: number;
  busProbeIntervalMs?: number;
}

/**
 * Returns the timeouts, with the default for each one that is undefined; 0 where there is none.
 *
 * @throws ListenError `invalid-options`.
 */
export function timeoutsOf(timeouts: ListenTimeouts = {}): Required<ListenTimeouts> {
  const { sessionIdleMs, ...others } = withDefaults('timeouts', DEFAULT_TIMEOUTS, timeouts);
  const timers = Object.entries(others).map(([name, ms]) => [name, timer(ms)]);
  return { ...(Object.fromEntries(timers) as typeof others), sessionIdleMs };
}

/**
 * Returns the intervals of the options, with the default for each one that is undefined; 0 where
 * there is none.
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

/**
 * Returns an interval of a stream, +-20 %, so that streams opened together do not tick together.
 */
export function jittered(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()));
}

/**
 * Converts a moment since 1970 to the clock of `performance.now`. A moment that is further away
 * than timers reach becomes the last one that they reach.
 */
export function toMonotonic(at: number): number {
  return performance.now() + Math.max(Math.min(at - Date.now(), LONGEST_TIMER), 0);
}

/**
 * Returns the milliseconds that a timer can wait; 0 for none. Hosts fire timers that are too long
 * for them at once.
 */
export function timer(ms: number): number {
  if (ms === 0 || ms > LONGEST_TIMER) return 0;
  return Math.max(ms, 1);
}

/**
 * Returns the milliseconds of a timeout for code that has none for "never": 0 becomes the longest
 * one.
 */
export function patienceOf(ms: number): number {
  return ms === 0 ? LONGEST_TIMER : ms;
}

const DEFAULT_TIMEOUTS: Required<ListenTimeouts> = {
  bodyMs: 10_000,
  answerMs: 10_000,
  authorizeMs: 2_000,
  attachMs: 3_000,
  writeMs: 60_000,
  sessionIdleMs: 1_800_000,
};
/** The longest span whose scatter is still a timer of 31 bits. */
const LONGEST_TIMER = (2 ** 31 - 1) / 1.2;
