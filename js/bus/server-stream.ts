import type { Retirement } from '../wasm/server/bindings.js';

/** When a stream ends, and why. */
export interface PlannedEnd {
  /** Time on the clock of `performance.now`. */
  at: number;
  reason: Retirement;
}

/**
 * A stream that a server holds.
 *
 * @internal
 */
export interface ServerStream {
  /** Returns the response whose body is this stream. */
  response(): Response;
  /** Passes each chunk of the output to `onChunk`, instead of writing it to a response. */
  into(onChunk: (chunk: Uint8Array) => void): void;
  /**
   * Says who reads those chunks, a number from 1. Each change is passed only to the first of
   * several consecutive streams of a holder that have the same reader.
   */
  readBy(reader: number): void;
  /**
   * Whether the caller may receive what that reader writes to the client now. If not, the caller is
   * authorized again.
   */
  maySend(): boolean;
  /** Handles the disconnection of the client. */
  cancel(): void;
  /** Whether the host may refuse writes to its body by other requests. */
  readonly hasOwnContext: boolean;
  /** Runs an action in the request context of the stream. */
  inContext(action: () => void): void;
  /** The object that holds the stream. Streams of one holder may write to each other's bodies. */
  readonly holder: object;
  /**
   * Resolves once the bus has confirmed the subscriptions of the stream; undefined: it has.
   *
   * @throws ListenError (as a rejection) `bus-lost`, `bus-full`, and the error with which the bus
   *   was lost.
   */
  readonly attached: Promise<void> | undefined;
  /**
   * Ends the stream gracefully: its body then has the pending cues and the result, even if the
   * client does not read them. `settled` resolves with whether the bus has delivered all events
   * that it shares between streams; without it, the bus has.
   */
  close(settled?: Promise<boolean>): void;
  /**
   * Ends the stream at a time of `performance.now`, without a result, after everything that is
   * pending then. With `settled` it ends once that promise has resolved, because the bus has
   * delivered its events by then, but at most three seconds after `at`.
   */
  retire(at: number, reason: Retirement, settled?: Promise<void>): void;
  /**
   * Ends the stream at once and without a result: the client takes it for a drop and reconnects.
   */
  abort(): void;
  /**
   * Ends the stream as `trapped`, at a random time and without a result: the core of its reader has
   * trapped.
   */
  endAfterTrap(): void;
}
