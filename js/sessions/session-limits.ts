import type { SessionLimits } from '../bus/session-store.js';
import type { ListenLimits } from '../model/limits.js';

/**
 * Returns the limits on the sessions of a server. If callers have names, those without one may use
 * only half of the room.
 */
export function sessionLimits(limits: Required<ListenLimits>, areNamed: boolean): SessionLimits {
  const share = areNamed ? 0.5 : 1;
  return {
    sessions: whole(limits.sessions),
    unnamedSessions: whole(Math.ceil(limits.sessions * share)),
    sessionsPerPrincipal: whole(limits.sessionsPerPrincipal),
    uris: whole(limits.uris),
    sessionUriBytes: whole(limits.sessionUriBytes),
    busUriBytes: whole(limits.busUriBytes),
    unnamedUriBytes: whole(limits.busUriBytes * share),
  };
}

/** Returns the milliseconds after which an idle session ends; 0, for never, becomes a century. */
export function idleOf(sessionIdleMs: number): number {
  return sessionIdleMs === 0 ? A_CENTURY : Math.floor(Math.min(sessionIdleMs, A_CENTURY));
}

/** Returns a limit as a whole number that the core accepts. */
function whole(limit: number): number {
  return Math.min(Math.max(Math.floor(limit), 0), MAX_U32);
}

/** Milliseconds in a century. */
const A_CENTURY = 3_155_760_000_000;
/** The largest limit of the core. */
const MAX_U32 = 2 ** 32 - 1;
