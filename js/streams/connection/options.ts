import type { AttachmentListener, BusConnection } from '../../bus/attachable-bus.js';
import type { StreamLogger } from '../../observe/log.js';
import type { Stream } from '../../wasm/server/bindings.js';
import type { FanoutStream } from '../fanout-stream.js';
import type { SharedConnection } from './shared-connection.js';

/** What a line tells whoever made it. */
export interface ConnectionOptions {
  /** Opens a connection to the bus, and sends `frame` first. */
  connect(frame: string, link: AttachmentListener): BusConnection;
  /** Keeps the request alive that asks, also after it was cancelled. */
  waitUntil(what: Promise<void>): void;
  /** Milliseconds within which the bus has to confirm. */
  attachMs: number;
  /** How long the bus may be silent before it is asked, in milliseconds; 0: for ever. */
  busProbeIntervalMs: number;
  /** Whether further streams may come. */
  isShared: boolean;
  /** Whether each stream is of a request of its own, on behalf of which alone its timers are touched. */
  isApart: boolean;
  onError: (error: Error) => void;
  /** Told when all its streams are away, and when they are back, where it is shared. */
  onLog: StreamLogger;
  /** A stream could not be written to from another request. */
  onRefused: (error: Error) => void;
  /** A stream that is open goes on alone. */
  onParted: (stream: FanoutStream, parted: Stream) => void;
  /** It was not shared, and its stream has left: it is of no use any more. */
  onEmpty: (line: SharedConnection) => void;
}
