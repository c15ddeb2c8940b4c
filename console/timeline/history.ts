import type { Frame } from '../mcp/frame.js';

/** The latest frames, oldest first; the oldest make room. */
export class History {
  #frames: Frame[] = [];
  #seen = 0;

  /** How many frames there have been. */
  get seen(): number {
    return this.#seen;
  }

  /** How many are kept. */
  get kept(): number {
    return this.#frames.length;
  }

  /** Keeps one more. */
  add(frame: Frame): void {
    this.#seen += 1;
    this.#frames.push(frame);
    // A slice at a time: moving everything by one place for each frame would cost what is kept.
    if (this.#frames.length > MOST + SLICE) this.#frames = this.#frames.slice(-MOST);
  }

  /** The latest `most` frames that `accepts`, newest first. */
  latest(most: number, accepts: (frame: Frame) => boolean): Frame[] {
    const latest: Frame[] = [];
    for (let index = this.#frames.length - 1; index >= 0 && latest.length < most; index -= 1) {
      const frame = this.#frames[index];
      if (frame !== undefined && accepts(frame)) latest.push(frame);
    }
    return latest;
  }

  /** Forgets all of them. */
  clear(): void {
    this.#frames = [];
    this.#seen = 0;
  }
}

const MOST = 5_000;
const SLICE = 500;
