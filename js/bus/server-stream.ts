import type { Retirement } from '../wasm/server/bindings.js';

/** When a stream is to end by itself, and why. */
export interface Retiring {
  /** A moment of `performance.now`. */
  at: number;
  why: Retirement;
}

/**
 * A stream that a server holds.
 *
 * @internal
 */
export interface ServerStream {
  /** The response whose body it is. */
  response(): Response;
  /**
   * Resolves once the bus has confirmed what it wants; undefined: it has.
   *
   * @throws ListenError (as a rejection) `bus-lost`, `bus-full`, and what the bus was lost with.
   */
  readonly attached: Promise<void> | undefined;
  /**
   * Ends it gracefully: pending cues and the result are in its body then, whether somebody reads or not. `settled` resolves with
   * whether the bus has delivered what it shares among streams; without it, it has.
   */
  close(settled?: Promise<boolean>): void;
  /**
   * Ends it at a moment of `performance.now`, without a result, after what is pending then. With `settled` it ends once
   * that resolves, which says as of {@link ServerStream.close} what the bus has delivered, and at most a second after `at`.
   */
  retire(at: number, why: Retirement, settled?: Promise<void>): void;
  /** Ends it at once and without a result: the client takes it for a drop and comes back. */
  abort(): void;
}
