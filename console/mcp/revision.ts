/** The revisions of the protocol that the console asks in. */
export type Revision = typeof MODERN | typeof SESSIONS;

/** Each request stands alone. */
export const MODERN = '2026-07-28';

/** Requests belong to a session. */
export const SESSIONS = '2025-11-25';
