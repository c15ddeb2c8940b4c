import type { Reauthorizer } from '../auth/reauthorize.js';
import type { EndReason } from '../model/stats/listen.js';
import type { Stream } from '../wasm/server/bindings.js';
import type { ServerStream } from './server-stream.js';

/**
 * Everything that opens a stream.
 *
 * @internal
 */
export interface Opening {
  /** The core's stream; opening consumes it. */
  stream: Stream;
  owner: StreamOwner;
  /**
   * Ends the stream if its client has read nothing for this many milliseconds while data is
   * pending; 0 disables.
   */
  writeMs: number;
  /** Milliseconds after which the stream ends; 0 disables. */
  maxConnectionAgeMs: number;
  /** When the caller's credentials expire, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
  /** Authorizes the caller again; undefined: not needed. */
  reauthorizer: Reauthorizer | undefined;
  /** When the caller was authorized, in milliseconds of `performance.now()`. */
  authorizedAt: number;
  /** Aborted when the client has disconnected. */
  signal: AbortSignal;
}

/** The server that owns a stream. */
export interface StreamOwner {
  /** Milliseconds over which the streams end after a trap of the core. */
  trapMs(): number;
  /**
   * The bus of a stream was lost or is attached again. Not called if the bus reports this for all
   * streams together.
   */
  away(stream: ServerStream, isAway: boolean): void;
  /** The core that held its streams has trapped. */
  trapped(error: Error): void;
  /** A stream has ended. */
  ended(stream: ServerStream, ending: EndReason): void;
}
