import type { Reauthorizer } from '../../auth/reauthorize.js';
import type { EndReason } from '../../model/stats/listen.js';
import type { Discovered } from '../../wasm/server/bindings.js';

/** A stream whose output stays in this process. */
export interface InnerStream {
  known: Discovered;
  /** Groups and principals, as JSON text. */
  scope: string;
  /** Authorizes the caller again; undefined: not needed. */
  reauthorizer: Reauthorizer | undefined;
  /** Receives the output, a chunk at a time. */
  onChunk: (chunk: Uint8Array) => void;
  /** Called when the stream has ended. */
  onEnd: (ending: EndReason) => void;
}
