import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import { type LoadServer, publish } from '../servers/server.ts';

/**
 * Publishes the same hundred resources again and again for a second, and then one more. Measures
 * how long that last event takes to arrive everywhere, and how many frames each stream received.
 */
export class Burst implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  readonly #streams: number;
  readonly #requests: number;

  private constructor(server: LoadServer, readers: Readers, streams: number, requests: number) {
    this.#server = server;
    this.#readers = readers;
    this.#streams = streams;
    this.#requests = requests;
  }

  /** Every request publishes each resource once. */
  static async start(server: LoadServer, streams: number, requests: number): Promise<Burst> {
    const readers = new Readers();
    await readers.open(server.listen, listenFor([...STORM, MARK], '1'), streams);
    return new Burst(server, readers, streams, requests);
  }

  async round(): Promise<Sample> {
    this.#readers.reset();
    const started = performance.now();
    const published: Promise<void>[] = [];
    for (let request = 0; request < this.#requests; request += 1) {
      published.push(publish(this.#server, STORM));
      await wait(
        Math.max(0, started + ((request + 1) * 1000) / this.#requests - performance.now()),
      );
    }
    const stormed = performance.now();
    await Promise.all(published);
    await publish(this.#server, [MARK]);
    await this.#readers.until(({ last }) => last.includes(`"${MARK}"`));
    const settled = performance.now() - stormed;
    const frames = this.#readers.verifyLast(MARK, STORM.length + 1);
    return { settled, frames: frames / this.#streams };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }
}

const STORM = Array.from({ length: 100 }, (_, index) => resourceUri(index));
const MARK = resourceUri(STORM.length);
