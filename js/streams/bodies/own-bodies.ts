import { eachWrite, type StreamBodies } from './fanout-bodies.js';
import type { ResponseBody } from './response-body.js';

/** Bodies each of which belongs to a request of its own; others may write to it, unless the host refuses that. */
export class OwnBodies implements StreamBodies {
  readonly #bodies: (ResponseBody | undefined)[] = [];
  readonly #refused: (stream: number, error: Error) => void;

  /**
   * @param refused - told where a write was refused on behalf of the request that it was made in. What was to be written is kept in the
   *   body, for {@link OwnBodies.writeKept}.
   */
  constructor(refused: (stream: number, error: Error) => void) {
    this.#refused = refused;
  }

  /** A body is there. */
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
      this.#refused(stream, error as Error);
    }
  }

  writeAll(fan: Uint8Array): number[] {
    const missed: number[] = [];
    eachWrite(fan, (stream, chunks, place) => {
      if (this.hasRoom(stream)) this.write(stream, chunks.at(place));
      else missed.push(stream);
    });
    return missed;
  }

  /** On behalf of its own request, writes what was refused; false where that fails too. */
  writeKept(stream: number): boolean {
    return this.#bodies[stream]?.writeKept() === true;
  }

  await(stream: number): void {
    this.#bodies[stream]?.await();
  }

  forget(stream: number): void {
    this.#bodies[stream] = undefined;
  }

  close(stream: number): void {
    this.#bodies[stream]?.close();
    this.forget(stream);
  }
}
