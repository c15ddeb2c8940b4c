import type { FanoutStreams } from './fanout-streams.js';
import { CALM, type HeldStream, SSE_HEADERS, type StreamTally } from './stream.js';
import type { Retirement } from './wasm.js';

/** One listen stream of a {@link FanoutStreams}; the source of its response's body. There may be very many, so it holds little. */
export class FannedStream implements HeldStream, UnderlyingDefaultSource<Uint8Array>, EventListenerObject {
  /** Its number in the core. */
  readonly id: number;
  /** Whether the body takes a write now. */
  hasRoom = false;
  /** Whether something waits in the core; the acknowledgment does from the beginning. */
  isBehind = true;
  readonly #streams: FanoutStreams;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(streams: FanoutStreams, id: number) {
    this.#streams = streams;
    this.id = id;
  }

  /** The answer to the listen request: its body is the stream. */
  response(): Response {
    return new Response(new ReadableStream(this, ROOM), { headers: SSE_HEADERS });
  }

  /** A bus of the same process is never away. */
  get tally(): StreamTally {
    return CALM;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  /** There is room for one write. */
  pull(): void {
    this.hasRoom = true;
    if (this.isBehind) this.#streams.flush(this);
  }

  /** The reader has left, and there is no body any more. */
  cancel(): void {
    this.#controller = undefined;
    this.#streams.end(this, 'left');
  }

  /** The request was aborted. */
  handleEvent(): void {
    this.#streams.end(this, 'left');
  }

  /** Writes, if there is room; otherwise the bytes are to wait in the core. */
  offer(bytes: Uint8Array): boolean {
    if (!this.hasRoom) {
      this.isBehind = true;
      return false;
    }
    this.hasRoom = false;
    this.#controller?.enqueue(bytes);
    return true;
  }

  close(): void {
    this.#streams.close(this);
  }

  retire(at: number, why: Retirement): void {
    this.#streams.retire(this, at, why);
  }

  abort(): void {
    this.#streams.end(this, 'aborted');
  }

  /** Closes the body. */
  finish(): void {
    this.hasRoom = false;
    this.#controller?.close();
    this.#controller = undefined;
  }
}

/** Room for one write at a time: while the reader has not taken it, cues wait in the core, where they collapse. */
const ROOM = { highWaterMark: 1 };
