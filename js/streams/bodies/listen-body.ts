import { type ChunkSink, NO_QUEUE } from './response-body.js';

/** The source of a {@link ListenBody}. */
export interface BodySource {
  start(controller: ReadableStreamDefaultController<Uint8Array>): void;
  pull(): void;
  cancel(): void;
  /**
   * Writes all further output to `sink` instead of the body. Returns false if the body has output
   * that was not read.
   */
  moveTo(sink: ChunkSink): boolean;
}

/**
 * The body of a listen stream's response. A host that has a socket writes the output there itself:
 * reading it from the body would cost more than the write.
 */
export class ListenBody extends ReadableStream<Uint8Array> {
  readonly #source: BodySource;

  constructor(source: BodySource) {
    super(source, NO_QUEUE);
    this.#source = source;
  }

  /**
   * Writes the output to `sink` from now on, one chunk for each call of `pull` of the source that
   * is returned; `cancel` reports that the client has disconnected. Returns undefined if the body
   * has to be read instead.
   */
  moveTo(sink: ChunkSink): BodySource | undefined {
    if (this.locked || !this.#source.moveTo(sink)) return undefined;
    // Nothing else may read the body, and Node must not cancel it when it collects the response.
    this.getReader();
    return this.#source;
  }
}
