import type { Frame } from '../mcp/frame.js';

/** The latest frames, oldest first; the oldest are dropped. */
export class History {
  #frames: Frame[] = [];
  #seen = 0;

  /** Number of frames since the last `clear`. */
  get seen(): number {
    return this.#seen;
  }

  /** Number of frames that are kept. */
  get kept(): number {
    return this.#frames.length;
  }

  /** Adds a frame. */
  add(frame: Frame): void {
    this.#seen += 1;
    this.#frames.push(frame);
    // Drops frames in batches, because each drop moves all remaining frames.
    if (this.#frames.length > MAX_FRAMES + SLICE) this.#frames = this.#frames.slice(-MAX_FRAMES);
  }

  /** Returns the latest `max` frames that `accepts` accepts, newest first. */
  latest(max: number, accepts: (frame: Frame) => boolean): Frame[] {
    const latest: Frame[] = [];
    for (let index = this.#frames.length - 1; index >= 0 && latest.length < max; index -= 1) {
      const frame = this.#frames[index];
      if (frame !== undefined && accepts(frame)) latest.push(frame);
    }
    return latest;
  }

  /** Drops all frames. */
  clear(): void {
    this.#frames = [];
    this.#seen = 0;
  }
}

const MAX_FRAMES = 5_000;
const SLICE = 500;
