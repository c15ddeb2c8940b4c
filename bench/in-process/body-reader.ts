/** Reads one response body as fast as it comes, at the same cost for every contender. */
export class BodyReader {
  /** Bytes since the last reset. */
  bytes = 0;
  last: Uint8Array | undefined;
  isEnded = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #arrived: () => void;

  /** @param arrived - called for each chunk. */
  constructor(body: ReadableStream<Uint8Array>, arrived: () => void) {
    this.#reader = body.getReader();
    this.#arrived = arrived;
    this.#read();
  }

  /** Resets the count, and drops the last chunk, which would count as memory of the stream. */
  reset(): void {
    this.bytes = 0;
    this.last = undefined;
  }

  /** Cancels the body, as a client does that leaves. */
  cancel(): void {
    void this.#reader.cancel();
  }

  #read(): void {
    this.#reader.read().then(this.#take, this.#end);
  }

  readonly #take = ({ done, value }: ReadableStreamReadResult<Uint8Array>): void => {
    if (done) {
      this.#end();
      return;
    }
    this.bytes += value.byteLength;
    this.last = value;
    this.#arrived();
    this.#read();
  };

  readonly #end = (): void => {
    this.isEnded = true;
  };
}
