import type { Edge, SharedEvents } from './wasm.js';

/** Bus frames for many streams of one isolate: the core reads them once, and writes them once for each subscription id. */
export class SharedFrames {
  readonly #events: SharedEvents;
  readonly #chunks: Uint8Array[] = [];
  readonly #now = performance.now();

  /** Whoever makes it frees it. */
  constructor(events: SharedEvents) {
    this.#events = events;
  }

  /** Gives them to a stream: the answer is what to write at once, or that they wait for room, or that the stream is to get the frames themselves. */
  give(edge: Edge, hasRoom: boolean): Uint8Array | 'waiting' | 'unchanged' {
    const place = this.#events.give(edge, hasRoom, this.#now);
    if (place < 0) return place === WAITING ? 'waiting' : 'unchanged';
    this.#chunks[place] ??= this.#events.chunk(place);
    return this.#chunks[place];
  }

  /** Nobody else gets them. */
  free(): void {
    this.#events.free();
  }
}

/** What the core says of events that wait. */
const WAITING = -1;
