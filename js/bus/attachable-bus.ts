import type { ListenBus } from './bus.js';
import type { EventSource } from './events.js';
import type { Opening } from './opening.js';
import type { BusOperator, OperatedStreams } from './operator/operator.js';
import type { ServerStream } from './server-stream.js';
import type { SessionStore } from './session-store.js';
import type { Interest } from './wanted/interest.js';

/**
 * A bus to which streams attach with frames of the core. Every bus of this package implements it.
 *
 * @internal
 */
export interface AttachableBus extends ListenBus {
  /**
   * Registers a sink for many streams of this process, which receives every event; returns a
   * function that removes it. Only for a bus that detects events lost between a publish and this
   * process.
   */
  subscribeAll?(sink: FanoutSink): () => void;
  /**
   * Opens a connection for the stream of a session, and sends `frame` first. A bus with `sessions`
   * implements it. Frames are those of the core.
   */
  connect?(frame: string, listener: AttachmentListener, options: ConnectOptions): BusConnection;
  /** Keeps the current request alive until `work` settles. Absent if the host does not need it. */
  waitUntil?(work: Promise<void>): void;
  /**
   * Opens a listen stream, in place of `subscribeAll`: for a bus to which streams have
   * connections.
   */
  openStream?(opening: Opening, options: AttachOptions): Promise<ServerStream>;
  /**
   * Resolves once the bus receives everything published from then on; fed streams open after that,
   * and sinks from before receive a gap. If absent, the bus always does.
   *
   * @throws ListenError (as a rejection) `bus-lost`.
   */
  ready?(): Promise<void>;
  /**
   * Requests everything that was published before the call. Resolves once all streams of this
   * process have received it. If absent, no event is ever in transit.
   *
   * @throws ListenError (as a rejection) `bus-lost`: the bus is unavailable, so events may be
   * missing.
   */
  settle?(): Promise<void>;
  /** The log of occurrences of MCP Events; absent if the bus keeps none. */
  readonly events?: EventSource | undefined;
  /** Grants topics to streams before they are acknowledged; absent: every topic is granted. */
  readonly interest?: Interest | undefined;
  /** Counters of the streams' connections. */
  readonly counters?: AttachmentCounters;
  /**
   * Registers the streams of a server, which are released with the server. Returns the operator of
   * the bus. If there is none, the operator of a process is used.
   */
  operate?(streams: OperatedStreams): BusOperator | undefined;
  /** The sessions of clients of earlier revisions; without it the bus supports no sessions. */
  readonly sessions?: SessionStore;
}

/** Feeds the streams of one server from a bus of the same process. */
export interface FanoutSink {
  /** Number of streams that it feeds. */
  readonly streams: number;
  /** Receives events in order, each a line of JSON text as the core writes it. */
  publish(events: string): void;
  /** Events may have been lost: every stream is resynced. */
  gap(): void;
  /** Ends every stream without a result, because the bus is closed. */
  release(): void;
}

/** Counters of streams and their bus; each stream counts once. */
export interface AttachmentCounters {
  /** Streams whose bus is unavailable now. */
  away: number;
  /** Number of times the bus was lost. */
  outages: number;
  /** Number of times the bus was lost and attached again. */
  healed: number;
  /** Number of times an event was missing, out of order or malformed. */
  gaps: number;
  /**
   * Number of times missed events could not be determined.
   *
   * @default 0
   */
  resyncs?: number;
}

/** How a stream attaches to a bus through a connection. */
export interface AttachOptions {
  /** Milliseconds within which the bus must confirm. */
  attachMs: number;
  /** Milliseconds without an event after which the stream probes the bus; 0: never. */
  busProbeIntervalMs: number;
  /** The continent of the client, as a two-letter code; undefined if unknown. */
  continent: string | undefined;
}

/** The client for which a connection is opened. */
export interface ConnectOptions {
  /** The continent of the client, as a two-letter code; undefined if unknown. */
  continent?: string | undefined;
}

/** One connection to a bus. */
export interface BusConnection {
  /** Sends a frame. */
  send(frame: string): void;
  /**
   * Closes the connection; may be called twice. Returns false if the connection belongs to another
   * request and is still open; that request must call it again.
   */
  close(): boolean;
  /**
   * Settles once opening has succeeded or failed, and never rejects; undefined: the connection is
   * open.
   */
  readonly connecting?: Promise<void> | undefined;
}

/** The stream's end of a connection. */
export interface AttachmentListener {
  /** Receives one frame of the bus: the confirmation first, then events. */
  onFrame(frame: string): void;
  /**
   * The bus was lost or could not be reached; no frame follows. An open stream attaches again,
   * unless the error is a `ListenError` with the code `bus-released`: the bus released the stream,
   * which ends. With `bus-overloaded` the stream waits longer. With `bus-outdated` it ends within
   * 30 seconds, without a result.
   */
  onLost(error: Error): void;
  /** Called in place of `onLost` if the bus redirected the streams to another of its objects. */
  readonly onRedirected?: (error: Error) => void;
}
