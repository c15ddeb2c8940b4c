import { setTimeout as wait } from 'node:timers/promises';
import { STALL_MS, untilProgressStops } from '../../harness/progress.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Stream } from './stream.ts';

/** The number of streams, and of the resources that each of them watches. */
export interface Held {
  streams: number;
  uris: number;
  /** Whether each stream watches one more resource, which no other one does. Default: false. */
  hasOwn?: boolean;
}

/** The readers of many streams of one server, in this process. */
export class Readers {
  readonly streams: Stream[] = [];
  #missing = 0;
  #complete: () => void = () => {};

  /** Opens the streams; resolves once each has its acknowledgment. */
  static async holding(url: URL, { streams, uris, hasOwn = false }: Held): Promise<Readers> {
    const readers = new Readers();
    const watched = Array.from({ length: uris }, (_, index) => resourceUri(index));
    const ownOf = (stream: number) => (hasOwn ? [resourceUri(uris + stream)] : []);
    await readers.open(url, (stream) => listenFor([...watched, ...ownOf(stream)], '1'), streams);
    return readers;
  }

  /**
   * Opens `count` more streams with the same request or with one each, `atOnce` of them at a time.
   * Resolves once each has its acknowledgment.
   */
  async open(
    url: URL,
    body: string | ((stream: number) => string),
    count: number,
    atOnce = AT_ONCE,
  ): Promise<void> {
    const opened: Stream[] = [];
    const bodyOf = typeof body === 'string' ? () => body : body;
    const openOne = async (): Promise<void> => {
      while (opened.length < count) {
        const stream = new Stream(url, bodyOf(opened.length), this.#arrived);
        opened.push(stream);
        await stream.acknowledged();
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, count) }, openOne));
    for (const stream of opened) stream.events = 0;
    this.streams.push(...opened);
  }

  /**
   * Resolves once this many further events have arrived on every stream. Rejects if none arrives
   * for {@link STALL_MS}.
   */
  expect(events: number): Promise<void> {
    this.reset();
    this.#missing = events * this.streams.length;
    const complete = new Promise<void>((resolve) => {
      this.#complete = resolve;
    });
    return untilProgressStops(complete, () => this.#missing, this.#complaint);
  }

  /** Throws unless each stream has exactly this many events, the last one of `uri`. */
  verify(events: number, uri: string): void {
    this.streams.forEach((stream, index) => {
      if (stream.isEnded) throw new Error(`stream ${index} has ended`);
      if (stream.events !== events)
        throw new Error(`stream ${index} got ${stream.events} events, not ${events}`);
      this.#verifyLast(stream, index, uri);
    });
  }

  /**
   * Throws unless each stream has at least this many events, the last one of `uri`. Returns the
   * events of all streams together.
   */
  verifyLast(uri: string, atLeast: number): number {
    this.streams.forEach((stream, index) => {
      this.#verifyLast(stream, index, uri);
      if (stream.events < atLeast)
        throw new Error(`stream ${index} got ${stream.events} events, less than ${atLeast}`);
    });
    return this.#received();
  }

  /** Resets the counts of all streams. */
  reset(): void {
    for (const stream of this.streams) stream.events = 0;
  }

  /**
   * Resolves once `isTrue` holds for every stream. Rejects if a stream ends, or if no event arrives
   * for {@link STALL_MS}.
   */
  async until(isTrue: (stream: Stream) => boolean): Promise<void> {
    let received = this.#received();
    let deadline = performance.now() + STALL_MS;
    while (!this.streams.every(isTrue)) {
      const ended = this.streams.filter(({ isEnded }) => isEnded).length;
      if (ended > 0) throw new Error(`${ended} of ${this.streams.length} streams have ended`);
      if (performance.now() > deadline) throw new Error('the streams did not reach the state');
      if (this.#received() !== received) deadline = performance.now() + STALL_MS;
      received = this.#received();
      await wait(2);
    }
  }

  /** Drops the streams that were opened last, by default all. */
  drop(count = this.streams.length): void {
    for (const stream of this.streams.splice(this.streams.length - count)) stream.drop();
  }

  #verifyLast({ last }: Stream, index: number, uri: string): void {
    const isWhole =
      last.startsWith('event: message') && last.includes(`"uri":"${uri}"`) && last.endsWith('}');
    if (!isWhole) throw new Error(`stream ${index} ends with ${last}, not with ${uri}`);
  }

  #received(): number {
    return this.streams.reduce((sum, { events }) => sum + events, 0);
  }

  readonly #complaint = (): string => {
    const ended = this.streams.filter(({ isEnded }) => isEnded).length;
    const all = this.streams.length;
    return `${this.#missing} events did not arrive, ${ended} of ${all} streams have ended`;
  };

  readonly #arrived = (events: number): void => {
    const before = this.#missing;
    this.#missing -= events;
    if (before > 0 && this.#missing <= 0) this.#complete();
  };
}

/** Streams that are opened at a time. */
const AT_ONCE = 64;
