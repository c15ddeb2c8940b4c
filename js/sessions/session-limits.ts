import type { SessionLimits } from '../bus/session-store.js';
import type { ListenLimits } from '../model/limits.js';

/** What the sessions of a server may take. Where callers are named, those without a name leave them half. */
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

/** A limit as the core takes it. */
function whole(limit: number): number {
  return Math.min(Math.max(Math.floor(limit), 0), MAX_U32);
}

/** Milliseconds. */
const A_CENTURY = 3_155_760_000_000;
/** What is larger is no bound. */
const MAX_U32 = 2 ** 32 - 1;
