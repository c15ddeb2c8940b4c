import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import type { StreamLogger } from '../../observe/log.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout/stream.js';
import type { UpstreamCounters } from './upstream-counters.js';

/** Options of a `SharedConnection`. */
export interface ConnectionOptions {
  /** Opens a connection to the bus and sends `frame` first. */
  connect(frame: string, listener: AttachmentListener): BusConnection;
  /** Keeps the current request alive until `work` settles, even after it was cancelled. */
  waitUntil(work: Promise<void>): void;
  /** Milliseconds within which the bus has to confirm. */
  attachMs: number;
  /** Probes the bus after it was silent for this many milliseconds. 0 disables. */
  busProbeIntervalMs: number;
  /** Whether more streams may join the connection. */
  isShared: boolean;
  /**
   * Whether each stream has its own request context, in which its timers have to be set and
   * cleared.
   */
  hasOwnContexts: boolean;
  onError: (error: Error) => void;
  /**
   * Called when all streams of a shared connection lose the bus, and when they are attached again.
   */
  onLog: StreamLogger;
  /** Called when a write to a stream was refused in the context of another request. */
  onRefused: (error: Error) => void;
  /** Counts outages and what followed them; connections may have one in common. */
  counters: UpstreamCounters;
  /** Called when an open stream moves to its own connection. */
  onMoved: (stream: FanoutStream, moved: Stream) => void;
  /** Called when the connection has ended: it is not shared, and its stream has left. */
  onEmpty: () => void;
}
