import type { SessionLimits } from '../bus/session-store.js';
import { MAX_COUNT } from '../model/amount.js';
import type { ListenLimits } from '../model/limits.js';

/**
 * Returns the limits on the sessions of a server. If callers have names, those without one may use
 * only half of the room.
 */
export function sessionLimits(limits: Required<ListenLimits>, areNamed: boolean): SessionLimits {
  const share = areNamed ? 0.5 : 1;
  return {
    sessions: toWhole(limits.sessions),
    unnamedSessions: toWhole(Math.ceil(limits.sessions * share)),
    sessionsPerPrincipal: toWhole(limits.sessionsPerPrincipal),
    uris: toWhole(limits.uris),
    sessionUriBytes: toWhole(limits.sessionUriBytes),
    busUriBytes: toWhole(limits.busUriBytes),
    unnamedUriBytes: toWhole(limits.busUriBytes * share),
  };
}

/** Returns the milliseconds after which an idle session ends; 0, for never, becomes a century. */
export function idleOf(sessionIdleMs: number): number {
  return sessionIdleMs === 0 ? CENTURY_MS : Math.floor(Math.min(sessionIdleMs, CENTURY_MS));
}

/** Returns a limit as a whole number that the core accepts. */
function toWhole(limit: number): number {
  return Math.min(Math.max(Math.floor(limit), 0), MAX_COUNT);
}

/** Milliseconds in a century. */
const CENTURY_MS = 3_155_760_000_000;
