import type { Reauthorizer } from '../auth/reauthorize.js';
import type { StreamEnding } from '../model/stats.js';
import type { Stream } from '../wasm/server/bindings.js';
import type { ServerStream } from './server-stream.js';

/**
 * What a stream is opened with.
 *
 * @internal
 */
export interface Opening {
  /** The core's part, which is used up. */
  stream: Stream;
  owner: StreamOwner;
  /** How long its reader may take nothing while something waits for it, in milliseconds; 0: for ever. */
  writeMs: number;
  /** How old it may grow, in milliseconds; 0: any age. */
  maxConnectionAgeMs: number;
  /** When what names the caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
  /** How to ask again what the caller may hear; undefined: nobody has to be asked. */
  grant: Reauthorizer | undefined;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
}

/** The server that a stream is of. */
export interface StreamOwner {
  /** Over how many milliseconds the streams of a core that has trapped end. */
  trapMs(): number;
  /** The bus of a stream is away, or back; not told where the bus tells of its streams together. */
  away(stream: ServerStream, isAway: boolean): void;
  /** The core has trapped that had streams of it. */
  trapped(error: Error): void;
  /** A stream has ended. */
  ended(stream: ServerStream, ending: StreamEnding): void;
}
