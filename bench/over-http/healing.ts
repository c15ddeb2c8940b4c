import { setTimeout as wait } from 'node:timers/promises';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import { type LoadServer, publish } from './load-server.ts';

/**
 * Resets the bus under its streams, publishes as soon as it can, and waits until each stream has
 * heard of it.
 */
export class Healing implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;

  private constructor(server: LoadServer, audience: Audience) {
    this.#server = server;
    this.#audience = audience;
  }

  static async start(
    server: LoadServer,
    { streams, uris }: { streams: number; uris: number },
  ): Promise<Healing> {
    const audience = new Audience();
    const watched = Array.from({ length: uris }, (_, index) => resourceUri(index));
    await audience.open(server.listen, listenFor(watched, '1'), streams);
    return new Healing(server, audience);
  }

  async round(): Promise<Sample> {
    this.#audience.reset();
    const started = performance.now();
    await (await fetch(new URL('/reset', this.#server.publish), { method: 'POST' })).text();
    await this.#published();
    await this.#audience.until(({ events }) => events > 0);
    const heal = performance.now() - started;
    await wait(SETTLE_MS);
    return { heal };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }

  /** A bus that is being reset may refuse. */
  async #published(): Promise<void> {
    for (let time = 0; time < 100; time += 1) {
      try {
        return await publish(this.#server, [WATCHED]);
      } catch {
        await wait(20);
      }
    }
    throw new Error('the bus did not come back');
  }
}

const WATCHED = resourceUri(0);
/** Objects that are reset too often in a row are held back. */
const SETTLE_MS = 1_000;
