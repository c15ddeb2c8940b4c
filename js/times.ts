import { host } from './host.js';

/** What of the options is a time, in milliseconds. */
export interface Times {
  keepAliveMs?: number;
  stallMs?: number;
  maxAgeMs?: number;
  verifyMs?: number;
  grantMs?: number;
}

/** The times with their defaults; 0 where there is none. */
export function timesOf(options: Times): Required<Times> {
  const { keepAliveMs = 15_000, stallMs = 60_000, maxAgeMs = host.maxAgeMs } = options;
  const { verifyMs = 0, grantMs = 30_000 } = options;
  return {
    keepAliveMs: timer(keepAliveMs),
    stallMs: timer(stallMs),
    maxAgeMs: timer(maxAgeMs),
    verifyMs: timer(verifyMs),
    grantMs: timer(grantMs),
  };
}

/** Every stream has its own times, +-20 %, so that those opened together do not tick together. */
export function scattered(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()));
}

/** A moment since 1970 on the clock of `performance.now`; what is further away than timers reach is not waited for. */
export function expiry(at: number): number {
  return performance.now() + Math.max(Math.min(at - Date.now(), LONGEST_TIMER), 0);
}

/** Hosts fire timers that are too long for them at once. */
function timer(ms: number): number {
  return ms >= 1 && ms <= LONGEST_TIMER ? ms : 0;
}

/** The longest span whose scatter is still a timer of 31 bits. */
const LONGEST_TIMER = (2 ** 31 - 1) / 1.2;
