import { deferred } from '../../timing/deferred.js';

/** What a body tells its stream. */
export interface BodyListener {
  /** Somebody can read it from now on. */
  begun(): void;
  /** There is room, and whatever waits can be written. */
  roomy(): void;
  /** Its reader has left. */
  left(): void;
}

/**
 * The body of one stream's response, with room for one chunk beside what its reader has asked for. What is written beyond that waits
 * in it for its reader, also when it was closed.
 */
export class ResponseBody {
  readonly #ends: BodyListener;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Ends the one call of `pull` that lasts as long as there is room: to be called after each chunk costs more than to write it. */
  #fill: (() => void) | undefined;
  /** A chunk that another request must not write. */
  #kept: Uint8Array | undefined;

  constructor(ends: BodyListener) {
    this.#ends = ends;
  }

  /** The response that it is the body of. */
  response(): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        this.#ends.begun();
      },
      pull: () => {
        this.#ends.roomy();
        return this.#untilFull();
      },
      cancel: () => this.#ends.left(),
    });
    return sseResponse(body);
  }

  /** Whether it is there. */
  get isBegun(): boolean {
    return this.#controller !== undefined;
  }

  /** Whether it takes a chunk now. */
  get hasRoom(): boolean {
    return this.#kept === undefined && (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Whether a chunk waits for {@link writeKept}: nothing may be written before it. */
  get hasKept(): boolean {
    return this.#kept !== undefined;
  }

  /** Takes a chunk. Throws where the request that this runs in must not write to it: the chunk is kept for {@link writeKept}. */
  write(chunk: Uint8Array): void {
    try {
      this.#controller?.enqueue(chunk);
    } catch (error) {
      this.#kept = chunk;
      throw error;
    }
  }

  /** Writes the chunk that was kept, if there is one; to be called in the request of the body. False where that fails. */
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

  /** Something waits for room: it tells when there is some. */
  await(): void {
    this.#fill?.();
  }

  #untilFull(): Promise<void> | undefined {
    if (!this.hasRoom) return undefined;
    const { promise, resolve } = deferred();
    this.#fill = resolve;
    return promise;
  }

  /** Nothing more comes. */
  close(): void {
    this.#fill?.();
    try {
      this.#controller?.close();
    } catch {
      // The reader has cancelled: there is no body left to close.
    }
  }
}

/** Nothing is queued in a body: what nobody reads waits in the core, where it collapses. */
export const NO_QUEUE = { highWaterMark: 0 };

/** The response whose body is a stream. */
export function sseResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    },
  });
}
