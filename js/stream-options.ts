import type { Joining, ListenBus } from './bus/bus.js';
import type { Grant } from './grant.js';
import type { HeldStream } from './held-stream.js';
import type { SessionStream } from './legacy/session-store.js';
import type { Tally } from './wasm.js';

/** How a stream is wired up. */
export interface StreamOptions {
  bus: ListenBus;
  /** Counts what the streams of a server go through. */
  tally: () => Tally;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  /** How long the bus may take to confirm, in milliseconds. */
  attachMs: number;
  /** How long a reader may take nothing while something waits for it, in milliseconds; 0: for ever. */
  stallMs: number;
  /** How old the stream may grow, in milliseconds; 0: any age. */
  maxConnectionAgeMs: number;
  /** Over how many milliseconds the streams of a core that has trapped end. */
  trapMs: () => number;
  /** How long the bus may be silent before it is asked, in milliseconds; 0: for ever. */
  verifyMs: number;
  /** When what names the caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt?: number | undefined;
  /** How to ask again what the caller may hear; undefined: nobody has to be asked. */
  grant?: Grant | undefined;
  onerror: (error: Error) => void;
  /** Told when the bus of a stream is away, and when it is back. */
  onaway: (stream: HeldStream, isAway: boolean) => void;
  /** The session whose stream it is. */
  session: SessionStream;
  /** On which continent the client is, where the host tells. */
  continent?: string | undefined;
}

/** What a stream that is wired up so says when it attaches. */
export function joiningOf({ attachMs, continent, session }: StreamOptions, since: string | undefined): Joining {
  return {
    attachMs,
    session: session.id,
    ...(session.principal !== undefined && { principal: session.principal }),
    ...(since !== undefined && { since }),
    ...(continent !== undefined && { continent }),
  };
}
