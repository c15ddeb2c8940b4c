/** Joins chunks to complete lines, so that the lines of two writers can share one stream. */
export class WholeLines {
  #partial: Buffer[] = [];

  /**
   * Returns all lines that `chunk` completes, line feeds included; undefined if it completes none.
   */
  take(chunk: Buffer): Buffer | undefined {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      this.#partial.push(chunk);
      return undefined;
    }
    const lines = Buffer.concat([...this.#partial, chunk.subarray(0, end)]);
    this.#partial = end < chunk.length ? [chunk.subarray(end)] : [];
    return lines;
  }
}

/** Yields each line of `lines`, line feed included. */
export function* eachLine(lines: Buffer): Generator<Buffer> {
  for (let start = 0; start < lines.length; ) {
    const feed = lines.indexOf(LINE_FEED, start);
    const end = feed < 0 ? lines.length : feed + 1;
    yield lines.subarray(start, end);
    start = end;
  }
}

const LINE_FEED = 0x0a;
