/** The revision without sessions. */
export const MODERN = '2026-07-28';

/** The latest revision with sessions. */
export const SESSIONS = '2025-11-25';
