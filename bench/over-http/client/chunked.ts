/** Parses an HTTP/1.1 response in pieces: the status, then the payload of a chunked body. */
export class ChunkedResponse {
  /** 0 until the head is complete. */
  status = 0;
  isEnded = false;
  readonly #payload: (part: Buffer) => void;
  #line = '';
  /** Bytes of the current chunk, with the line end after it, that have not come yet. */
  #left = 0;
  #isChunked = false;

  /** @param payload - called with each part of the body, in order. */
  constructor(payload: (part: Buffer) => void) {
    this.#payload = payload;
  }

  /** Parses the next bytes. */
  take(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.isEnded)
      at = this.#left > LINE_END ? this.#data(bytes, at) : this.#text(bytes, at);
  }

  #data(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left - LINE_END);
    this.#payload(bytes.subarray(at, end));
    this.#left -= end - at;
    return end;
  }

  /** A line of the head, the end of a chunk, or the size of the next one. */
  #text(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\n', at);
    if (end < 0) {
      this.#line += bytes.toString('latin1', at);
      return bytes.length;
    }
    const line = (this.#line + bytes.toString('latin1', at, end)).trimEnd();
    this.#line = '';
    if (this.#isChunked && this.status > 0) this.#size(line);
    else this.#head(line);
    return end + 1;
  }

  #head(line: string): void {
    if (/^transfer-encoding: *chunked$/i.test(line)) this.#isChunked = true;
    if (line.startsWith('HTTP/')) this.#status = Number(line.split(' ')[1]);
    if (line !== '') return;
    this.status = this.#status;
    // A response without chunks is a refusal, whose body does not matter.
    this.isEnded = !this.#isChunked;
  }

  #size(line: string): void {
    if (line === '') {
      this.#left = 0;
      return;
    }
    const size = Number.parseInt(line, 16);
    this.#left = size + LINE_END;
    this.isEnded = size === 0;
  }

  #status = 0;
}

const LINE_END = 2;
