import { setTimeout as wait } from 'node:timers/promises';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import { type LoadServer, publish } from './load-server.ts';

/**
 * Lets the bus hibernate with its streams attached, and publishes: what the wake adds to that one
 * publish, and by how much that exceeds 1.2 times a publish of a bus that is awake.
 */
export class Waking implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;

  private constructor(server: LoadServer, audience: Audience) {
    this.#server = server;
    this.#audience = audience;
  }

  static async start(
    server: LoadServer,
    { streams, uris }: { streams: number; uris: number },
  ): Promise<Waking> {
    const audience = new Audience();
    const watched = Array.from({ length: uris }, (_, index) => resourceUri(index));
    await audience.open(server.listen, listenFor(watched, '1'), streams);
    return new Waking(server, audience);
  }

  async round(): Promise<Sample> {
    const wakes = await this.#wakes();
    await wait(IDLE_MS);
    const cold = await this.#publish();
    if ((await this.#wakes()) !== wakes + 1) throw new Error('the bus did not hibernate');
    const warm = Math.min(await this.#publish(), await this.#publish(), await this.#publish());
    return { wake: Math.max(0, cold - warm), cold, beyond: Math.max(0, cold - 1.2 * warm) };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }

  async #publish(): Promise<number> {
    const started = performance.now();
    const arrived = this.#audience.expect(1).then(() => performance.now() - started);
    const [spent] = await Promise.all([arrived, publish(this.#server, [WATCHED])]);
    this.#audience.verify(1, WATCHED);
    return spent;
  }

  async #wakes(): Promise<number> {
    return (await (await fetch(new URL('/wakes', this.#server.publish))).json()) as number;
  }
}

const WATCHED = resourceUri(0);
/** A Durable Object hibernates after ten seconds. */
const IDLE_MS = 11_500;
