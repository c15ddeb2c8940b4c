import type { FanoutStreams } from './fanout-streams.js';
import type { Grant } from './grant.js';
import { CALM, type HeldStream, NO_QUEUE, SSE_HEADERS, type StreamTally } from './held-stream.js';
import { SETTLE_MS } from './streams.js';
import { surviving } from './trap.js';
import type { Retirement } from './wasm.js';

/** One listen stream of a {@link FanoutStreams}; the source of its response's body. There may be very many, so it holds little. */
export class FannedStream implements HeldStream, UnderlyingDefaultSource<Uint8Array>, EventListenerObject {
  /** Its number in the core; {@link NONE} once that has trapped. */
  id: number;
  /** Whether something waits in the core; the acknowledgment does from the beginning. */
  isBehind = true;
  /** How to ask again what its caller may hear; undefined: nobody has to be asked. */
  readonly grant: Grant | undefined;
  readonly #streams: FanoutStreams;

  constructor(streams: FanoutStreams, id: number, grant: Grant | undefined) {
    this.#streams = streams;
    this.id = id;
    this.grant = grant;
  }

  /** The answer to the listen request: its body is the stream. */
  response(): Response {
    return new Response(new ReadableStream(this, NO_QUEUE), { headers: SSE_HEADERS });
  }

  /** A bus of the same process is never away. */
  get tally(): StreamTally {
    return CALM;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    surviving(() => this.#streams.begin(this, controller));
  }

  /** Somebody reads: there is room for one write. */
  pull(): void {
    this.#streams.outlets.vacate(this.id);
    if (this.isBehind) surviving(() => this.#streams.flush(this));
  }

  /** The reader has left, and there is no body any more. */
  cancel(): void {
    this.#streams.leave(this);
  }

  /** The request was aborted. */
  handleEvent(): void {
    this.#streams.end(this, 'left');
  }

  close(settled?: Promise<boolean>): void {
    if (settled === undefined) this.#streams.close(this);
    else void settled.then(() => this.#streams.close(this));
  }

  retire(at: number, why: Retirement, settled?: Promise<void>): void {
    this.#streams.retire(this, settled === undefined ? at : at + SETTLE_MS, why);
    void settled?.then(() => this.#streams.retire(this, performance.now(), why));
  }

  abort(): void {
    this.#streams.abort(this);
  }
}

/** The number of a stream that the core does not know. */
export const NONE = -1;
