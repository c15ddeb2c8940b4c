import type { Fanout } from '../../wasm/server/bindings.js';
import type { FanoutStream } from './stream.js';

/** Options of a `FanoutDriver`. */
export interface FanoutOptions {
  /** Creates the core's part, which is fed or follows a bus. */
  make: () => Fanout;
  /**
   * Whether each stream has its own request context, in which its timers have to be set and
   * cleared.
   */
  hasOwnContexts: boolean;
  /** Called before the first stream; the returned function is called after the last one. */
  begin?: () => () => void;
  /** Called when a stream has left, before its owner is notified. */
  onLeft?: (stream: FanoutStream) => void;
  /** Called when the core has trapped, which must not be called here; its streams leave later. */
  onTrapped?: () => void;
  /** Called when the rights of a caller may have changed. */
  onScope?: () => void;
  /**
   * Called when a write to a stream was refused in the context of another request. The stream's own
   * context writes instead.
   */
  onRefused?: (error: Error) => void;
  onError: (error: Error) => void;
}
