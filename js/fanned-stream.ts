import type { FanoutStreams } from './fanout-streams.js';
import type { Grant } from './grant.js';
import { CALM, type HeldStream, NO_QUEUE, SSE_HEADERS, type StreamTally } from './held-stream.js';
import { SETTLE_MS } from './streams.js';
import { surviving } from './trap.js';
import type { Retirement } from './wasm.js';

/** One listen stream of a {@link FanoutStreams}; the source of its response's body. There may be very many, so it holds little. */
export class FannedStream implements HeldStream, UnderlyingDefaultSource<Uint8Array>, EventListenerObject {
  /** Its number in the core; another one in a core that has begun anew. */
  id: number;
  /** Whether something waits in the core; the acknowledgment does from the beginning. */
  isBehind = true;
  /** How to ask again what its caller may hear; undefined: nobody has to be asked. */
  readonly grant: Grant | undefined;
  readonly keepAliveMs: number;
  /** When what names its caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
  /** What it is made of; undefined once it has begun to end: its last words may have been said. */
  memo: string | undefined;
  /** Whether its client has been written anything; the acknowledgment comes first. */
  hasWritten = false;
  /** When it is to end by itself. */
  planned: Planned | undefined;
  readonly #streams: FanoutStreams;

  constructor(streams: FanoutStreams, id: number, { expiresAt, grant, keepAliveMs }: FannedOptions) {
    this.#streams = streams;
    this.id = id;
    this.grant = grant;
    this.keepAliveMs = keepAliveMs;
    this.expiresAt = expiresAt;
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
    this.#streams.outlets.open(this.id, controller);
    surviving(() => this.#streams.begun(this));
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

/** What a stream is opened with, for a core that has begun anew. */
export interface FannedOptions {
  /** How often it gives a sign of life, in milliseconds; 0: never. */
  keepAliveMs: number;
  expiresAt: number | undefined;
  grant: Grant | undefined;
}

/** When a stream is to end by itself, and why. */
export interface Planned {
  at: number;
  why: Retirement;
}
