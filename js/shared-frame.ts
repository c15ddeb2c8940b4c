import { type Edge, SharedEvent } from './wasm.js';

/** A bus frame for many streams of one isolate: the core reads it once, and writes it once for each subscription id. */
export class SharedFrame {
  readonly #event: SharedEvent;
  readonly #chunks: Uint8Array[] = [];
  readonly #now = performance.now();

  private constructor(event: SharedEvent) {
    this.#event = event;
  }

  /** A frame as text; undefined where it holds no event. Whoever has it frees it. */
  static of(frame: string): SharedFrame | undefined {
    const event = SharedEvent.read(frame);
    return event && new SharedFrame(event);
  }

  /** Gives it to a stream: the answer is what to write at once, or that it waits for room, or that the stream is to get the frame itself. */
  give(edge: Edge, hasRoom: boolean): Uint8Array | 'waiting' | 'unchanged' {
    const place = this.#event.give(edge, hasRoom, this.#now);
    if (place < 0) return place === WAITING ? 'waiting' : 'unchanged';
    this.#chunks[place] ??= this.#event.chunk(place);
    return this.#chunks[place];
  }

  /** Nobody else gets it. */
  free(): void {
    this.#event.free();
  }
}

/** What the core says of an event that waits. */
const WAITING = -1;
