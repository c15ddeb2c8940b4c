/** The protocol revisions that the console uses. */
export type Revision = typeof MODERN | typeof SESSIONS;

/** The revision without sessions. */
export const MODERN = '2026-07-28';

/** The revision with sessions. */
export const SESSIONS = '2025-11-25';
