import type { EdgeCloseReason } from '../../wasm/server/bindings.js';

/** The bus released the stream on purpose: the stream ends and does not reconnect. */
export const RELEASED = 4_001;
/**
 * Normal closure. A bus without {@link RELEASED} uses it to release the stream of a session, and
 * closes such a stream with it for no other reason.
 */
export const NORMAL = 1_000;
/** The bus cannot hold the stream now: the stream reconnects. */
export const TRY_AGAIN_LATER = 1_013;
/** The bus has no room for the names of the stream: the stream reconnects after a longer delay. */
export const FULL = 4_013;
/** The object does not serve edges of this version: the edge ends its streams, spread over time. */
export const OUTDATED = 4_026;
/** A shard now holds the stream: it reconnects at once, through the root. */
export const REDIRECTED = 1_012;

/** The close code for each reason why a shard or a bus closes an edge. */
export const CODE_OF: Record<EdgeCloseReason, number> = {
  redirected: REDIRECTED,
  over: RELEASED,
  full: FULL,
  lost: TRY_AGAIN_LATER,
};
