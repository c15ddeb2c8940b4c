import { listenRequest } from '../frame.ts';
import { patiently } from '../harness/patience.ts';
import { BodyReader } from './body-reader.ts';
import { eventUri, listenOf, matches, type Scenario } from './scenario.ts';
import type { Server } from './server.ts';

/** All the streams of a scenario with somebody who reads them. */
export class Audience {
  readonly #scenario: Scenario;
  readonly #readers: BodyReader[] = [];
  #missing = 0;
  #complete: () => void = () => {};

  private constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  /** Opens the streams one after another; resolves once each has its acknowledgment. */
  static async open(server: Server, scenario: Scenario): Promise<Audience> {
    const audience = new Audience(scenario);
    const acknowledged = audience.expect(scenario.streams);
    for (let stream = 0; stream < scenario.streams; stream += 1)
      await audience.#join(server, stream);
    await acknowledged;
    audience.reset();
    return audience;
  }

  /**
   * Resolves once so many chunks have arrived from now on, wherever; rejects when nothing more
   * comes.
   */
  expect(chunks: number): Promise<void> {
    this.#missing = chunks;
    if (chunks === 0) return Promise.resolve();
    const complete = new Promise<void>((resolve) => {
      this.#complete = resolve;
    });
    return patiently(
      complete,
      () => this.#missing,
      () => `${this.#missing} frames did not arrive`,
    );
  }

  /** Begins to count anew. */
  reset(): void {
    for (const reader of this.#readers) reader.reset();
  }

  /**
   * Throws unless each stream has exactly the frames of these events, and the last one is of the
   * last event.
   */
  verify(events: number): void {
    this.#readers.forEach((reader, stream) => {
      this.#verifyStream(reader, stream, events);
    });
  }

  /** Drops all streams, as clients that are gone. */
  leave(): void {
    for (const reader of this.#readers) reader.cancel();
  }

  #verifyStream({ bytes, isEnded, last }: BodyReader, stream: number, events: number): void {
    if (isEnded) throw new Error(`stream ${stream} has ended`);
    const expected = matches(this.#scenario, stream) ? events : 0;
    const length = last?.byteLength ?? 0;
    // All frames of a stream are equally long.
    if (bytes !== expected * length) {
      throw new Error(`stream ${stream} got ${bytes} bytes, not ${expected} frames of ${length}`);
    }
    const uri = eventUri(this.#scenario, events - 1);
    const text = new TextDecoder().decode(last);
    if (expected > 0 && !(text.includes(`"${uri}"`) && text.endsWith('}\n\n'))) {
      throw new Error(`stream ${stream} ends with ${text} and not with ${uri}`);
    }
  }

  async #join(server: Server, stream: number): Promise<void> {
    const { body, status } = await server.fetch(listenRequest(listenOf(this.#scenario, stream)));
    if (body === null || status !== 200)
      throw new Error(`listen ${stream} was answered with ${status}`);
    this.#readers.push(new BodyReader(body, this.#arrived));
  }

  readonly #arrived = (): void => {
    this.#missing -= 1;
    if (this.#missing === 0) this.#complete();
  };
}
