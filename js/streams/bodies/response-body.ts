import { deferred } from '../../timing/deferred.js';

/** Accepts the chunks of a body: the controller of a stream, or a replacement for it. */
export type ChunkSink = Pick<
  ReadableStreamDefaultController<Uint8Array>,
  'close' | 'desiredSize' | 'enqueue'
>;

/** Handles the events of a body. */
export interface BodyListener {
  /** Called when the body can be read. */
  onOpen(): void;
  /** Called when the body has room, so that pending output can be written. */
  onRoom(): void;
  /** Called when the client has disconnected. */
  onDisconnect(): void;
}

/**
 * The body of one stream's response. It has room for one chunk beyond what the client has
 * requested. Further chunks are queued in it until the client reads them, even after `close`.
 */
export class ResponseBody {
  readonly #listener: BodyListener;
  #controller: ChunkSink | undefined;
  /**
   * Resolves the pending call of `pull`, which lasts as long as there is room: one call for each
   * chunk would cost more than the write.
   */
  #fill: (() => void) | undefined;
  /** A chunk whose write was refused in another request context. */
  #kept: Uint8Array | undefined;

  constructor(listener: BodyListener) {
    this.#listener = listener;
  }

  /** Returns a response with this body. */
  response(): Response {
    return sseResponse(new ReadableStream(this));
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.into(controller);
  }

  /** Handles room for a chunk. */
  pull(): Promise<void> | undefined {
    // workerd (2026-11-17) also calls it before the client has taken the first chunk.
    if (!this.hasRoom) return undefined;
    this.#listener.onRoom();
    return this.#untilFull();
  }

  /** Handles the disconnection of the client. */
  cancel(): void {
    this.#listener.onDisconnect();
  }

  /** Writes the chunks to a sink instead of a response. The sink must accept every chunk. */
  into(sink: ChunkSink): void {
    this.#controller = sink;
    this.#listener.onOpen();
  }

  /** Whether the body accepts a chunk now. */
  get hasRoom(): boolean {
    return this.#kept === undefined && (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Whether a chunk is kept for {@link writeKept}. Nothing may be written before it. */
  get hasKept(): boolean {
    return this.#kept !== undefined;
  }

  /**
   * Writes a chunk. If the host refuses the write in the current request context, keeps the chunk
   * for {@link writeKept} and throws.
   */
  write(chunk: Uint8Array): void {
    try {
      this.#controller?.enqueue(chunk);
    } catch (error) {
      this.#kept = chunk;
      throw error;
    }
  }

  /**
   * Writes the kept chunk, if there is one; call it in the request context of the body. Returns
   * false if the write fails.
   */
  writeKept(): boolean {
    const kept = this.#kept;
    this.#kept = undefined;
    try {
      if (kept !== undefined) this.#controller?.enqueue(kept);
      return true;
    } catch {
      return false;
    }
  }

  /** Ends the pending `pull`, so that the next one reports room. */
  awaitRoom(): void {
    this.#fill?.();
  }

  #untilFull(): Promise<void> | undefined {
    if (!this.hasRoom) return undefined;
    const { promise, resolve } = deferred();
    this.#fill = resolve;
    return promise;
  }

  /** Ends the body. */
  close(): void {
    this.#fill?.();
    try {
      this.#controller?.close();
    } catch {
      // The client has cancelled: there is no body to close.
    }
  }
}

/** Disables the queue of a body: pending output stays in the core, where it collapses. */
export const NO_QUEUE = { highWaterMark: 0 };

/** Returns the event stream response with this body. */
export function sseResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  });
}
