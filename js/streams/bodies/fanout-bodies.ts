/** The bodies of many streams by their numbers. */
export interface StreamBodies {
  /** Whether there is such a body. */
  isOpen(stream: number): boolean;
  /** Whether a body has room. */
  hasRoom(stream: number): boolean;
  /** Writes to a body. */
  write(stream: number, chunk: Uint8Array): void;
  /**
   * Writes what `Fanout.publish` of the core answers; the result names the streams that had no room. Streams share chunks: who
   * reads one may neither write into it nor transfer it.
   */
  writeAll(fan: Uint8Array): number[];
  /** Something waits for room in a body. */
  await(stream: number): void;
  /** There is no such body any more. */
  forget(stream: number): void;
  /** Closes the body, if there still is one. */
  close(stream: number): void;
}

/**
 * Bodies of one process, and which of them take a write now. Whoever writes to thousands at once must not
 * touch an object of each.
 */
export class FanoutBodies implements StreamBodies {
  readonly #controllers: (ReadableStreamDefaultController<Uint8Array> | undefined)[] = [];
  #room = new Uint8Array(64);

  /** A body is there; it has no room yet. */
  open(stream: number, controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (stream >= this.#room.length) this.#grow(stream);
    this.#controllers[stream] = controller;
  }

  isOpen(stream: number): boolean {
    return this.#controllers[stream] !== undefined;
  }

  forget(stream: number): void {
    this.#controllers[stream] = undefined;
    this.#room[stream] = 0;
  }

  close(stream: number): void {
    this.#controllers[stream]?.close();
    this.forget(stream);
  }

  /** A pull tells of room. */
  await(): void {}

  /** A body has room for one write. */
  markReady(stream: number): void {
    this.#room[stream] = 1;
  }

  hasRoom(stream: number): boolean {
    return this.#room[stream] === 1;
  }

  /** Writes to a body, which then has no room. */
  write(stream: number, chunk: Uint8Array): void {
    this.#room[stream] = 0;
    this.#controllers[stream]?.enqueue(chunk);
  }

  writeAll(fan: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(fan, (stream, chunks, place) => {
      if (this.#room[stream] === 1) this.write(stream, chunks.at(place));
      else missed.push(stream);
    });
    return missed;
  }

  #grow(stream: number): void {
    const former = this.#room;
    this.#room = new Uint8Array(stream * 2);
    this.#room.set(former);
  }
}

/** Calls `write` for each stream that a fan of the core is for. */
export function eachWrite(
  fan: Uint8Array,
  write: (stream: number, chunks: Chunks, place: number) => void,
): void {
  const [head = 0] = new Uint32Array(fan.buffer, 0, 1);
  const words = new Uint32Array(fan.buffer, 4, (head >> 2) - 1);
  const count = words[0] as number;
  const chunks = new Chunks(fan.subarray(head), words.subarray(1, 1 + count));
  for (let at = 1 + count; at < words.length; at += 2)
    write(words[at] as number, chunks, words[at + 1] as number);
}

/** Cuts bytes into chunks, each once: a slow reader must not keep all of them alive, and small copies cost more than they save. */
export class Chunks {
  readonly #bytes: Uint8Array;
  readonly #ends: Uint32Array;
  readonly #cut: Uint8Array[] = [];
  /** A copy of some chunks, and which bytes it holds. */
  #piece = new Uint8Array(0);
  #from = 0;
  #to = 0;

  constructor(bytes: Uint8Array, ends: Uint32Array) {
    this.#bytes = bytes;
    this.#ends = ends;
  }

  /** The chunk at a place. */
  at(place: number): Uint8Array {
    const known = this.#cut[place];
    if (known !== undefined) return known;
    const from = place > 0 ? (this.#ends[place - 1] as number) : 0;
    const to = this.#ends[place] as number;
    if (to > this.#to) this.#copy(from, place);
    const chunk = this.#piece.subarray(from - this.#from, to - this.#from);
    this.#cut[place] = chunk;
    return chunk;
  }

  /** Chunks are asked for in ascending order. */
  #copy(from: number, place: number): void {
    let last = place;
    while (last + 1 < this.#ends.length && (this.#ends[last + 1] as number) - from <= PIECE)
      last += 1;
    this.#from = from;
    this.#to = this.#ends[last] as number;
    this.#piece = this.#bytes.slice(from, this.#to);
  }
}

/** Bytes that one slow reader may keep alive for others. */
const PIECE = 4_096;
