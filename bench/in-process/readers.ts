import { untilProgressStops } from '../harness/progress.ts';
import { listenRequest } from '../requests.ts';
import type { Server } from '../servers/server.ts';
import { BodyReader } from './body-reader.ts';
import { eventUri, listenOf, matches, type Scenario } from './scenario.ts';

/** The readers of all streams of a scenario. */
export class Readers {
  readonly #scenario: Scenario;
  readonly #bodies: BodyReader[] = [];
  #missing = 0;
  #complete: () => void = () => {};

  private constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  /** Opens the streams one after another; resolves once each has its acknowledgment. */
  static async open(server: Server, scenario: Scenario): Promise<Readers> {
    const readers = new Readers(scenario);
    const acknowledged = readers.expect(scenario.streams);
    for (let stream = 0; stream < scenario.streams; stream += 1)
      await readers.#join(server, stream);
    await acknowledged;
    readers.reset();
    return readers;
  }

  /**
   * Resolves once this many further chunks have arrived on all streams together. Rejects without
   * progress, as {@link untilProgressStops} does.
   */
  expect(chunks: number): Promise<void> {
    this.#missing = chunks;
    if (chunks === 0) return Promise.resolve();
    const complete = new Promise<void>((resolve) => {
      this.#complete = resolve;
    });
    return untilProgressStops(
      complete,
      () => this.#missing,
      () => `${this.#missing} frames did not arrive`,
    );
  }

  /** Resets the counts of all readers. */
  reset(): void {
    for (const body of this.#bodies) body.reset();
  }

  /**
   * Throws unless each stream has exactly the frames of this many events, the last one of the last
   * event.
   */
  verify(events: number): void {
    this.#bodies.forEach((body, stream) => {
      this.#verifyStream(body, stream, events);
    });
  }

  /** The bytes of the last frame on the first stream. */
  get frameBytes(): number {
    return this.#bodies[0]?.last?.byteLength ?? 0;
  }

  /** Drops all streams. */
  leave(): void {
    for (const body of this.#bodies) body.cancel();
  }

  #verifyStream({ bytes, isEnded, last }: BodyReader, stream: number, events: number): void {
    if (isEnded) throw new Error(`stream ${stream} has ended`);
    const expected = matches(this.#scenario, stream) ? events : 0;
    const length = last?.byteLength ?? 0;
    // All frames of a stream have the same length.
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
    if (body === null || status !== 200) throw new Error(`listen ${stream} got status ${status}`);
    this.#bodies.push(new BodyReader(body, this.#arrived));
  }

  readonly #arrived = (): void => {
    this.#missing -= 1;
    if (this.#missing === 0) this.#complete();
  };
}
