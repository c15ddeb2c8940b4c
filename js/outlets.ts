/**
 * The bodies of many streams by their numbers, and which of them take a write now. Whoever writes to thousands at once must not
 * touch an object of each.
 */
export class Outlets {
  readonly #controllers: (ReadableStreamDefaultController<Uint8Array> | undefined)[] = [];
  #room = new Uint8Array(64);

  /** A body is there; it has no room yet. */
  open(stream: number, controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (stream >= this.#room.length) this.#grow(stream);
    this.#controllers[stream] = controller;
  }

  /** There is no such body any more. */
  forget(stream: number): void {
    this.#controllers[stream] = undefined;
    this.#room[stream] = 0;
  }

  /** Closes the body, if there still is one. */
  close(stream: number): void {
    this.#controllers[stream]?.close();
    this.forget(stream);
  }

  /** A body has room for one write. */
  vacate(stream: number): void {
    this.#room[stream] = 1;
  }

  /** Whether a body has room. */
  hasRoom(stream: number): boolean {
    return this.#room[stream] === 1;
  }

  /** Writes to a body that has room. */
  write(stream: number, chunk: Uint8Array): void {
    this.#room[stream] = 0;
    this.#controllers[stream]?.enqueue(chunk);
  }

  /**
   * Writes what `Fanout.publish` of the core answers; the result names the streams that had no room. Streams of one id share
   * their chunk: who reads it may neither write into it nor transfer it.
   */
  writeAll(fan: Uint8Array): number[] {
    const [head = 0] = new Uint32Array(fan.buffer, 0, 1);
    const words = new Uint32Array(fan.buffer, 4, (head >> 2) - 1);
    const count = words[0] as number;
    const chunks: Uint8Array[] = [];
    const missed: number[] = [];
    for (let at = 1 + count; at < words.length; at += 2) {
      const stream = words[at] as number;
      if (this.#room[stream] !== 1) {
        missed.push(stream);
        continue;
      }
      const place = words[at + 1] as number;
      let chunk = chunks[place];
      if (chunk === undefined) {
        // A copy of each: a slow reader must not keep all chunks alive.
        chunk = fan.slice(head + (place > 0 ? (words[place] as number) : 0), head + (words[place + 1] as number));
        chunks[place] = chunk;
      }
      this.write(stream, chunk);
    }
    return missed;
  }

  #grow(stream: number): void {
    const former = this.#room;
    this.#room = new Uint8Array(stream * 2);
    this.#room.set(former);
  }
}
