import type { ListenBus } from './bus.js';
import type { Opening } from './opening.js';
import type { ServerStream } from './server-stream.js';
import type { SessionStore } from './session-store.js';

/** A bus to which streams attach, in words of the core: each of this package is one. */
export interface AttachableBus extends ListenBus {
  /**
   * Registers a sink of many streams of this process, which receives every event; returns what
   * removes it. Only for a bus that notices events that are lost between a publish and this process.
   */
  feed?(feed: FanoutSink): () => void;
  /**
   * Opens a connection for the stream of a session, and sends `frame` first. A bus with `sessions`
   * has it. The frames are those of the core.
   */
  connect?(frame: string, link: AttachmentListener, of: ConnectOptions): BusConnection;
  /** Keeps the current request alive until `what` settles. Without it that is not needed. */
  waitUntil?(what: Promise<void>): void;
  /** Holds a listen stream, in place of `feed`: for a bus that streams have connections to. */
  hold?(opening: Opening, joining: AttachOptions): Promise<ServerStream>;
  /**
   * Resolves once the bus receives whatever is published from then on; streams that are fed open
   * after that. Without it, it always does.
   *
   * @throws ListenError (as a rejection) `bus-lost`.
   */
  ready?(): Promise<void>;
  /**
   * Asks for everything that was published before the call. Resolves once all streams of this
   * process have received it. Without it, nothing is ever on its way.
   *
   * @throws ListenError (as a rejection) `bus-lost`: the bus is away, so something may be missing.
   */
  settle?(): Promise<void>;
  /** What the streams' connections went through. */
  readonly tally?: AttachmentCounters;
  /** The sessions of clients of earlier revisions; a bus without them serves no sessions. */
  readonly sessions?: SessionStore;
}

/** What feeds the streams of one server with a bus of the same process. */
export interface FanoutSink {
  /** How many streams it feeds. */
  readonly streams: number;
  /** Takes events in their order, each a line of JSON text, as the core writes it. */
  publish(events: string): void;
  /** Events may have been lost: every stream hears of everything it honors. */
  gap(): void;
  /** The bus is closed: every stream ends, without a result. */
  release(): void;
}

/** What streams went through with their bus, counted once for each stream. */
export interface AttachmentCounters {
  /** Streams whose bus is away now. */
  away: number;
  /** How often the bus was lost. */
  outages: number;
  /** How often the bus was lost and attached again. */
  healed: number;
  /** How often something was found missing, out of order or broken. */
  gaps: number;
  /** How often nobody could tell what was missed (default 0). */
  resyncs?: number;
}

/** How a stream reaches a bus that it has a connection to. */
export interface AttachOptions {
  /** Milliseconds within which the bus has to confirm. */
  attachMs: number;
  /** How long the bus may be silent before it is asked, in milliseconds; 0: for ever. */
  busProbeIntervalMs: number;
  /** On which continent the client is, as a code of two letters; undefined: nobody knows. */
  continent: string | undefined;
}

/** Whose connection to a bus it is. */
export interface ConnectOptions {
  /** On which continent the client is, as a code of two letters; undefined: nobody knows. */
  continent?: string | undefined;
}

/** One connection to a bus. */
export interface BusConnection {
  /** Sends one more frame. */
  send(frame: string): void;
  /**
   * Closes the connection; may be called twice. Returns false if the connection belongs to another
   * request and is still open; that request has to call it again.
   */
  leave(): boolean;
  /** Settles once opening has succeeded or failed, and never rejects; undefined: it is open. */
  readonly connecting?: Promise<void> | undefined;
}

/** The stream's end of a connection. */
export interface AttachmentListener {
  /** Takes one frame of the bus: the confirmation first, then events. */
  receive(frame: string): void;
  /**
   * The bus is gone, or could not be reached; nothing follows. A stream that is open attaches again,
   * unless the error is a `ListenError` with the code `bus-released`: the bus let it go on purpose,
   * and it ends. The code `bus-overloaded` makes it wait for longer. With `bus-outdated` it ends
   * within 30 seconds, without a result.
   */
  lost(error: Error): void;
  /** In place of `lost`, where the bus has sent the streams on to another object of it. */
  readonly sentOn?: (error: Error) => void;
}
