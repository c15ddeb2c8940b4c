import { setTimeout as wait } from 'node:timers/promises';
import { PATIENCE_MS, patiently } from '../harness/patience.ts';
import { Stream } from './stream.ts';

/** Many streams of one server, read by this process. */
export class Audience {
  readonly streams: Stream[] = [];
  #missing = 0;
  #complete: () => void = () => {};

  /**
   * Opens so many further streams with the same request, some at once; resolves once each has its
   * acknowledgment.
   */
  async open(url: URL, body: string, count: number, atOnce = AT_ONCE): Promise<void> {
    const opened: Stream[] = [];
    const openOne = async (): Promise<void> => {
      while (opened.length < count) {
        const stream = new Stream(url, body, this.#arrived);
        opened.push(stream);
        await stream.acknowledged();
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, count) }, openOne));
    for (const stream of opened) stream.events = 0;
    this.streams.push(...opened);
  }

  /**
   * Resolves once so many events have arrived on every stream from now on; rejects when nothing
   * more comes.
   */
  expect(events: number): Promise<void> {
    this.reset();
    this.#missing = events * this.streams.length;
    const complete = new Promise<void>((resolve) => {
      this.#complete = resolve;
    });
    return patiently(complete, () => this.#missing, this.#complaint);
  }

  /** Throws unless each stream has just so many events, and the last one is about `uri`. */
  verify(events: number, uri: string): void {
    this.streams.forEach((stream, index) => {
      if (stream.isEnded) throw new Error(`stream ${index} has ended`);
      if (stream.events !== events)
        throw new Error(`stream ${index} got ${stream.events} events, not ${events}`);
      this.#verifyLast(stream, index, uri);
    });
  }

  /**
   * Throws unless the last event of each stream is about `uri` and it has at least so many; tells
   * how many all streams have.
   */
  verifyLast(uri: string, atLeast: number): number {
    this.streams.forEach((stream, index) => {
      this.#verifyLast(stream, index, uri);
      if (stream.events < atLeast)
        throw new Error(`stream ${index} got ${stream.events} events, less than ${atLeast}`);
    });
    return this.#heard();
  }

  /** Begins to count anew. */
  reset(): void {
    for (const stream of this.streams) stream.events = 0;
  }

  /**
   * Resolves once something is true of every stream; rejects when one ends, or when nothing more
   * comes.
   */
  async until(isTrue: (stream: Stream) => boolean): Promise<void> {
    let heard = this.#heard();
    let deadline = performance.now() + PATIENCE_MS;
    while (!this.streams.every(isTrue)) {
      const ended = this.streams.filter(({ isEnded }) => isEnded).length;
      if (ended > 0) throw new Error(`${ended} of ${this.streams.length} streams have ended`);
      if (performance.now() > deadline) throw new Error('what was waited for did not come');
      if (this.#heard() !== heard) deadline = performance.now() + PATIENCE_MS;
      heard = this.#heard();
      await wait(2);
    }
  }

  /** Drops the last streams that were opened, or all. */
  drop(count = this.streams.length): void {
    for (const stream of this.streams.splice(this.streams.length - count)) stream.drop();
  }

  #verifyLast({ last }: Stream, index: number, uri: string): void {
    const isWhole =
      last.startsWith('event: message') && last.includes(`"uri":"${uri}"`) && last.endsWith('}');
    if (!isWhole) throw new Error(`stream ${index} ends with ${last}, not with ${uri}`);
  }

  #heard(): number {
    return this.streams.reduce((sum, { events }) => sum + events, 0);
  }

  readonly #complaint = (): string => {
    const ended = this.streams.filter(({ isEnded }) => isEnded).length;
    return `${this.#missing} events did not arrive, ${ended} of ${this.streams.length} streams have ended`;
  };

  readonly #arrived = (events: number): void => {
    const before = this.#missing;
    this.#missing -= events;
    if (before > 0 && this.#missing <= 0) this.#complete();
  };
}

const AT_ONCE = 64;
