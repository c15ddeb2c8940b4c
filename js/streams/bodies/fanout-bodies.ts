import type { ChunkSink, ResponseBody } from './response-body.js';

/** The response bodies of many streams, by stream id. */
export interface StreamBodies {
  /** Adds a body, of the kind that the streams of the host have. */
  open(stream: number, body: ChunkSink | ResponseBody): void;
  /** Returns whether the stream has an open body. */
  isOpen(stream: number): boolean;
  /** Returns whether the body has room. */
  hasRoom(stream: number): boolean;
  /** Writes a chunk to the body. */
  write(stream: number, chunk: Uint8Array): void;
  /**
   * Writes the output of the core's `Fanout.publish`. Returns the streams that had no room. Streams
   * share chunks: a consumer must neither modify nor transfer a chunk.
   */
  writeAll(batch: Uint8Array): number[];
  /** Marks that a body has room for one chunk. */
  markReady(stream: number): void;
  /** Marks output as pending until the body has room. */
  awaitRoom(stream: number): void;
  /** Forgets the body. */
  forget(stream: number): void;
  /** Closes the body, if it is open. */
  close(stream: number): void;
}

/**
 * Bodies on hosts where any request may write to any body. One array says which of them have room:
 * a write to thousands of bodies must not touch an object for each.
 */
export class FanoutBodies implements StreamBodies {
  readonly #controllers: (ChunkSink | undefined)[] = [];
  #room = new Uint8Array(64);

  /** Adds a body; it has no room yet. */
  open(stream: number, controller: ChunkSink): void {
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

  /** Does nothing: `pull` of the body reports room. */
  awaitRoom(): void {}

  markReady(stream: number): void {
    this.#room[stream] = 1;
  }

  hasRoom(stream: number): boolean {
    return this.#room[stream] === 1;
  }

  /** Writes a chunk; the body then has no room. */
  write(stream: number, chunk: Uint8Array): void {
    this.#room[stream] = 0;
    this.#controllers[stream]?.enqueue(chunk);
  }

  writeAll(batch: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(batch, (stream, chunks, index) => {
      if (this.#room[stream] === 1) this.write(stream, chunks.at(index));
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

/** Calls `write` for each stream in a write batch of the core. */
export function eachWrite(
  batch: Uint8Array,
  write: (stream: number, chunks: ChunkCache, index: number) => void,
): void {
  // One view of the numbers and the chunks: each view costs more than a small batch.
  const words = new Uint32Array(batch.buffer, 0, batch.byteLength >> 2);
  const head = words[0] as number;
  const count = words[1] as number;
  const chunks = new ChunkCache(batch, words, head, count);
  const end = head >> 2;
  for (let at = ENDS + count; at < end; at += 2)
    write(words[at] as number, chunks, words[at + 1] as number);
}

/**
 * Cuts a batch into chunks, each at most once. Copies small groups of chunks out of a large batch:
 * a slow reader must not keep all of it alive, and a copy of each chunk would cost more than it
 * saves.
 */
export class ChunkCache {
  readonly #batch: Uint8Array;
  readonly #words: Uint32Array;
  /** Where the chunks begin. */
  readonly #head: number;
  readonly #count: number;
  readonly #cut: Uint8Array[] = [];
  /** The small batch, or a copy of consecutive chunks, from byte `#from` to byte `#to`. */
  #piece: Uint8Array;
  #from: number;
  #to: number;

  constructor(batch: Uint8Array, words: Uint32Array, head: number, count: number) {
    this.#batch = batch;
    this.#words = words;
    this.#head = head;
    this.#count = count;
    this.#piece = batch;
    this.#from = -head;
    this.#to = batch.length > MAX_PIECE_BYTES ? 0 : batch.length - head;
  }

  /** Returns the chunk at an index. */
  at(index: number): Uint8Array {
    const known = this.#cut[index];
    if (known !== undefined) return known;
    const from = index > 0 ? this.#endOf(index - 1) : 0;
    const to = this.#endOf(index);
    // A stream without room requests no chunk, so a lower index may follow a higher one.
    if (from < this.#from || to > this.#to) this.#copy(from, index);
    const chunk = this.#piece.subarray(from - this.#from, to - this.#from);
    this.#cut[index] = chunk;
    return chunk;
  }

  /**
   * Copies consecutive chunks, from this one up to `MAX_PIECE_BYTES` bytes: most chunks are
   * requested in ascending order.
   */
  #copy(from: number, index: number): void {
    let last = index;
    while (last + 1 < this.#count && this.#endOf(last + 1) - from <= MAX_PIECE_BYTES) last += 1;
    this.#from = from;
    this.#to = this.#endOf(last);
    this.#piece = this.#batch.slice(this.#head + from, this.#head + this.#to);
  }

  /** Returns the byte after a chunk. */
  #endOf(index: number): number {
    return this.#words[ENDS + index] as number;
  }
}

/** The place of the ends of chunks among the numbers: before them are two other ones. */
const ENDS = 2;
/** Bytes of other output that one slow reader may keep alive. */
const MAX_PIECE_BYTES = 4_096;
