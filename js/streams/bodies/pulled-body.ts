import { type BodyListener, type ChunkSink, NO_QUEUE, sseResponse } from './response-body.js';

/**
 * As {@link ResponseBody}, for hosts where any request may write to any body: the host reports room
 * for each chunk, so a write does not have to ask for it, and no write is refused.
 */
export class PulledBody {
  /** Whether the body accepts a chunk now. */
  hasRoom = false;
  readonly #listener: BodyListener;
  #controller: ChunkSink | undefined;

  constructor(listener: BodyListener) {
    this.#listener = listener;
  }

  /** Returns a response with this body. */
  response(): Response {
    return sseResponse(new ReadableStream<Uint8Array>(this, NO_QUEUE));
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#listener.onOpen();
  }

  /** Handles room for one chunk. */
  pull(): void {
    this.hasRoom = true;
    this.#listener.onRoom();
  }

  /** Handles the disconnection of the client. */
  cancel(): void {
    this.#listener.onDisconnect();
  }

  /** Whether the body can be read. */
  get isOpen(): boolean {
    return this.#controller !== undefined;
  }

  /** Writes a chunk, which is queued if the body has no room. */
  write(chunk: Uint8Array): void {
    this.hasRoom = false;
    this.#controller?.enqueue(chunk);
  }

  /** Does nothing: no chunk is ever kept. */
  writeKept(): boolean {
    return true;
  }

  /** Does nothing: the host reports room. */
  awaitRoom(): void {}

  /** Ends the body. */
  close(): void {
    try {
      this.#controller?.close();
    } catch {
      // The client has cancelled: there is no body to close.
    }
  }
}
