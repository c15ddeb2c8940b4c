import type { Retirement } from './wasm.js';

/** How often a stream had to do with a bus that was lost or that lost something. */
export interface StreamTally {
  /** Whether its bus is away now. */
  isAway: boolean;
  outages: number;
  healed: number;
  gaps: number;
  resyncs: number;
}

/** A stream that a server holds. */
export interface HeldStream {
  /** How often it had to do with a bus that was lost or that lost something. */
  readonly tally: StreamTally;
  /** Ends it gracefully: pending cues go out, then the result. */
  close(): void;
  /** Ends it at a moment of `performance.now`, without a result, after what is pending then. */
  retire(at: number, why: Retirement): void;
  /** Ends it at once and without a result: the client takes it for a drop and comes back. */
  abort(): void;
}

/** Nothing was ever lost. */
export const CALM: StreamTally = { isAway: false, outages: 0, healed: 0, gaps: 0, resyncs: 0 };
