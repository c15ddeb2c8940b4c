import { eachWrite, type StreamBodies } from './fanout-bodies.js';
import type { ResponseBody } from './response-body.js';

/**
 * Bodies that each belong to the request of their stream. Other requests may write to them, unless
 * the host refuses that.
 */
export class OwnBodies implements StreamBodies {
  readonly #bodies: (ResponseBody | undefined)[] = [];
  readonly #onRefused: (stream: number, error: Error) => void;

  /**
   * @param onRefused - called when the host refuses a write in the current request context. The
   * body keeps the chunk for {@link OwnBodies.writeKept}.
   */
  constructor(onRefused: (stream: number, error: Error) => void) {
    this.#onRefused = onRefused;
  }

  /** Adds a body. */
  open(stream: number, body: ResponseBody): void {
    this.#bodies[stream] = body;
  }

  isOpen(stream: number): boolean {
    return this.#bodies[stream]?.hasKept === false;
  }

  hasRoom(stream: number): boolean {
    return this.#bodies[stream]?.hasRoom === true;
  }

  write(stream: number, chunk: Uint8Array): void {
    try {
      this.#bodies[stream]?.write(chunk);
    } catch (error) {
      this.#onRefused(stream, error as Error);
    }
  }

  writeAll(batch: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(batch, (stream, chunks, index) => {
      if (this.hasRoom(stream)) this.write(stream, chunks.at(index));
      else missed.push(stream);
    });
    return missed;
  }

  /**
   * Writes the chunk that was refused; call it in the request context of the body. Returns false if
   * the write fails again.
   */
  writeKept(stream: number): boolean {
    return this.#bodies[stream]?.writeKept() === true;
  }

  awaitRoom(stream: number): void {
    this.#bodies[stream]?.awaitRoom();
  }

  forget(stream: number): void {
    this.#bodies[stream] = undefined;
  }

  close(stream: number): void {
    this.#bodies[stream]?.close();
    this.forget(stream);
  }
}
