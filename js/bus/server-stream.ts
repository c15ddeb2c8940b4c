import type { Retirement } from '../wasm/server/bindings.js';

/**
 * Why a stream ended: `closed` gracefully, with its result; `left`: its client is gone; `stalled`: its reader took nothing for
 * `stallMs`; `rotated` at its age; `drained`; `shed`; `expired`: what named its caller holds no longer; `denied`: its caller may not hear any
 * more all it was promised, or nobody could say that it may; `outdated`: the bus object no longer serves its deployment; `exhausted`: the requests
 * that share its socket have spent their processor budget; `lost`: states of its tasks may have been lost; `trapped`: the core trapped, which had
 * it in its memory; `aborted`: its bus let it go, or its reader did not take the end of a drain in time.
 */
export type StreamEnding =
  | 'closed'
  | 'left'
  | 'stalled'
  | 'rotated'
  | 'drained'
  | 'shed'
  | 'expired'
  | 'denied'
  | 'outdated'
  | 'exhausted'
  | 'lost'
  | 'trapped'
  | 'aborted';

/** When a stream is to end by itself, and why. */
export interface Retiring {
  /** A moment of `performance.now`. */
  at: number;
  why: Retirement;
}

/** A stream that a server holds. */
export interface HeldStream {
  /**
   * Ends it gracefully: pending cues and the result are in its body then, whether somebody reads or not. `settled` resolves with
   * whether the bus has delivered what it shares among streams; without it, it has.
   */
  close(settled?: Promise<boolean>): void;
  /**
   * Ends it at a moment of `performance.now`, without a result, after what is pending then. With `settled` it ends once
   * that resolves, which says as of {@link HeldStream.close} what the bus has delivered, and at most a second after `at`.
   */
  retire(at: number, why: Retirement, settled?: Promise<void>): void;
  /** Ends it at once and without a result: the client takes it for a drop and comes back. */
  abort(): void;
}

/** Nothing is queued in a body: what nobody reads waits in the core, where it collapses. */
export const NO_QUEUE = { highWaterMark: 0 };

/** The response whose body is a stream. */
export function sseResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  });
}
