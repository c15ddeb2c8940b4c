import type { CallerContext } from '../../auth/authorize.js';
import type { Reauthorizer } from '../../auth/reauthorize.js';
import type { EndReason } from '../../model/stats/listen.js';

/** A stream that the server itself reads: its output goes to a function, not to a response. */
export interface InnerStream {
  /** Authorizes the caller again; undefined: not needed. */
  reauthorizer: Reauthorizer | undefined;
  /** Receives the output, a chunk at a time. */
  onChunk: (chunk: Uint8Array) => void;
  /** Called when the stream has ended. */
  onEnd: (ending: EndReason) => void;
}

/** What an inner stream receives, and for which caller. */
export interface InnerStreamOptions extends InnerStream {
  /** The resource whose updates the stream receives: the URI of the events. */
  uri: string;
  /** Only events of these groups are received. */
  groups: readonly string[];
  caller: CallerContext;
}
