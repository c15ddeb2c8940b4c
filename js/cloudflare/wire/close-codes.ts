import type { Parting } from '../../wasm/server/bindings.js';

/** The bus lets a stream go on purpose: it ends, and does not come back by itself. */
export const RELEASED = 4_001;
/** What a bus without {@link RELEASED} says then; it says it for nothing else to the stream of a session. */
export const NORMAL = 1_000;
/** The bus cannot keep the stream now: it comes back. */
export const TRY_AGAIN_LATER = 1_013;
/** The bus has no room for the names of the stream: it comes back, and not soon. */
export const FULL = 4_013;
/** The object serves no edge of this version any more: the edge ends its streams, spread. */
export const OUTDATED = 4_026;
/** The bus keeps the stream no more, but a shard of it does: it comes back at once, by way of the root. */
export const MOVED = 1_012;

/** The code with which a shard or a bus lets an edge go. */
export const PARTING: Record<Parting, number> = {
  moved: MOVED,
  over: RELEASED,
  full: FULL,
  lost: TRY_AGAIN_LATER,
};
