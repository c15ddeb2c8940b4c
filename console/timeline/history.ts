import type { Frame } from '../mcp/frame.js';

/** The latest frames, oldest first; the oldest are dropped. */
export class History {
  #frames: Frame[] = [];
  #seen = 0;

  /** Number of frames since the last `clear`. */
  get seen(): number {
    return this.#seen;
  }

  /** Adds a frame; returns the frames that were dropped for it. */
  add(frame: Frame): Frame[] {
    this.#seen += 1;
    this.#frames.push(frame);
    // Drops frames in batches, because each drop moves all remaining frames.
    if (this.#frames.length < MAX_FRAMES + SLICE) return [];
    return this.#frames.splice(0, SLICE);
  }

  /** Returns the frames that `accepts` accepts, oldest first. */
  filtered(accepts: (frame: Frame) => boolean): Frame[] {
    return this.#frames.filter(accepts);
  }

  /** Drops all frames. */
  clear(): void {
    this.#frames = [];
    this.#seen = 0;
  }
}

/** Number of frames that are kept at least. */
export const MAX_FRAMES = 50_000;
const SLICE = 1_000;
