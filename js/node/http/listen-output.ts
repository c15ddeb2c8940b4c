import type { ServerResponse } from 'node:http';
import { type BodySource, type ChunkSink, ListenBody } from '../../streams/index.js';
import { type Deferred, deferred } from '../../timing/deferred.js';

/**
 * Writes the output of a listen stream to its connection without a stream of the web in between:
 * the next chunk once the one before has left the process. Resolves once all of it was written, or
 * the client has disconnected. Undefined if the body has to be read.
 */
export function writeListen(
  body: ReadableStream<Uint8Array> | null,
  outgoing: ServerResponse,
): Promise<void> | undefined {
  if (!(body instanceof ListenBody) || outgoing.closed) return undefined;
  return new ListenOutput(outgoing).take(body);
}

class ListenOutput implements ChunkSink {
  readonly desiredSize = 1;
  readonly #outgoing: ServerResponse;
  readonly #written: Deferred<void> = deferred();
  #source: BodySource | undefined;
  /** The source must not be called after its end, when another stream may have its id. */
  #isOver = false;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  take(body: ListenBody): Promise<void> | undefined {
    const source = body.moveTo(this);
    if (source === undefined) return undefined;
    this.#outgoing.once('close', () => {
      this.#isOver = true;
      source.cancel();
      this.#written.resolve();
    });
    this.#source = source;
    this.#pull();
    return this.#written.promise;
  }

  /** Writes a chunk. An error concerns this response only, not who publishes. */
  enqueue(chunk?: Uint8Array): void {
    try {
      this.#outgoing.write(chunk, this.#sent);
    } catch (error) {
      this.#written.reject(error as Error);
    }
  }

  /** Ends the response. An error concerns this response only, not who ends the stream. */
  close(): void {
    this.#isOver = true;
    try {
      // Without a callback, which code that wraps `end` may take for a chunk.
      this.#outgoing.end();
    } catch (error) {
      this.#written.reject(error as Error);
    }
  }

  readonly #sent = (error?: Error | null): void => {
    if (!error) this.#pull();
  };

  #pull(): void {
    try {
      if (!this.#isOver) this.#source?.pull();
    } catch (error) {
      this.#written.reject(error as Error);
    }
  }
}
