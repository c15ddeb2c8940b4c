import type { Fanout } from '../wasm/server/bindings.js';
import type { FanoutStream } from './fanout-stream.js';

/** How the streams of a `FanoutDriver` are served. */
export interface FanoutOptions {
  /** Makes the core's part: it is fed, or follows a bus. */
  make: () => Fanout;
  /** Whether each stream is of a request of its own, on behalf of which alone its timers are touched. */
  isApart: boolean;
  /** Begins with the first stream; the answer ends it after the last one. */
  begin?: () => () => void;
  /** A stream is held no more; told before its owner. */
  onLeft?: (stream: FanoutStream) => void;
  /** The callers of streams may hear something else. */
  onScope?: () => void;
  /** A stream could not be written to from another request; its own writes what it was to get. */
  onRefused?: (error: Error) => void;
  onError: (error: Error) => void;
}
