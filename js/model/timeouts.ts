import { ListenError } from './error.js';

/** What of the options is a time, in milliseconds. */
export interface Timeouts {
  keepAliveMs?: number;
  stallMs?: number;
  maxConnectionAgeMs?: number;
  verifyMs?: number;
  authorizationTtlMs?: number;
}

/**
 * The times with their defaults; 0 where there is none.
 *
 * @throws ListenError `invalid-options` where `authorizationTtlMs` is not a number.
 */
export function timeoutsOf(options: Timeouts): Required<Timeouts> {
  const { keepAliveMs = 15_000, stallMs = 60_000, maxConnectionAgeMs = 0 } = options;
  const { verifyMs = 0, authorizationTtlMs = 30_000 } = options;
  // Without a time no caller is asked about again: that has to be wanted.
  if (typeof authorizationTtlMs !== 'number' || Number.isNaN(authorizationTtlMs)) {
    throw new ListenError('invalid-options', 'authorizationTtlMs is not a number');
  }
  return {
    keepAliveMs: timer(keepAliveMs),
    stallMs: timer(stallMs),
    maxConnectionAgeMs: timer(maxConnectionAgeMs),
    verifyMs: timer(verifyMs),
    authorizationTtlMs: timer(authorizationTtlMs),
  };
}

/** Every stream has its own times, +-20 %, so that those opened together do not tick together. */
export function jittered(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()));
}

/** A moment since 1970 on the clock of `performance.now`; what is further away than timers reach is not waited for. */
export function toMonotonic(at: number): number {
  return performance.now() + Math.max(Math.min(at - Date.now(), LONGEST_TIMER), 0);
}

/** Milliseconds that a timer can wait; 0 for none. Hosts fire timers that are too long for them at once. */
export function timer(ms: number): number {
  return ms >= 1 && ms <= LONGEST_TIMER ? ms : 0;
}

/** The longest span whose scatter is still a timer of 31 bits. */
const LONGEST_TIMER = (2 ** 31 - 1) / 1.2;
