import { setTimeout as wait } from 'node:timers/promises';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import { type LoadServer, publish } from './load-server.ts';

/**
 * Publishes the same hundred resources again and again for a second. Then one more event says that
 * all before it has arrived: what counts is how long that takes, and how many frames each stream
 * had to take.
 */
export class Burst implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;
  readonly #streams: number;
  readonly #requests: number;

  private constructor(server: LoadServer, audience: Audience, streams: number, requests: number) {
    this.#server = server;
    this.#audience = audience;
    this.#streams = streams;
    this.#requests = requests;
  }

  /** Every request publishes each resource once. */
  static async start(server: LoadServer, streams: number, requests: number): Promise<Burst> {
    const audience = new Audience();
    await audience.open(server.listen, listenFor([...STORM, MARK], '1'), streams);
    return new Burst(server, audience, streams, requests);
  }

  async round(): Promise<Sample> {
    this.#audience.reset();
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
    await this.#audience.until(({ last }) => last.includes(`"${MARK}"`));
    const settled = performance.now() - stormed;
    const frames = this.#audience.verifyLast(MARK, STORM.length + 1);
    return { settled, frames: frames / this.#streams };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }
}

const STORM = Array.from({ length: 100 }, (_, index) => resourceUri(index));
const MARK = resourceUri(STORM.length);
