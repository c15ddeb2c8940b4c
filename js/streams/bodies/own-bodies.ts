import { eachWrite, type StreamBodies } from './fanout-bodies.js';
import type { ResponseBody } from './response-body.js';

/**
 * Bodies that each belong to the request of their stream. Other requests may write to them, unless
 * the host refuses that.
 */
export class OwnBodies implements StreamBodies {
  readonly #bodies: (ResponseBody | undefined)[] = [];
  readonly #onRefused: (stream: number, body: ResponseBody, error: Error) => void;

  /**
   * @param onRefused - called when the host refuses a write in the current request context. The
   * body keeps the chunk for {@link ResponseBody.writeKept}.
   */
  constructor(onRefused: (stream: number, body: ResponseBody, error: Error) => void) {
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
    const body = this.#bodies[stream];
    if (body === undefined) return;
    try {
      body.write(chunk);
    } catch (error) {
      this.#onRefused(stream, body, error as Error);
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

  /** Does nothing: the body itself knows its room. */
  markReady(): void {}

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
