import type { SessionLimits } from '../bus/session-store.js';
import type { DEFAULT_LIMITS } from '../model/limits.js';

/** What the sessions of a server may take. Where callers are named, those without a name leave them half. */
export function sessionLimits(limits: typeof DEFAULT_LIMITS, areNamed: boolean): SessionLimits {
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

/** A limit as the core takes it. */
export function whole(limit: number): number {
  return Math.min(Math.max(Math.floor(limit), 0), MAX_U32);
}

/** What is larger is no bound. */
const MAX_U32 = 2 ** 32 - 1;
