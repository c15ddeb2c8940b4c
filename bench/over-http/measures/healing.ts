import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { resourceUri } from '../../requests.ts';
import { type Held, Readers } from '../client/readers.ts';
import { type LoadServer, publish } from '../servers/server.ts';

/** Resets the bus, publishes as soon as it accepts that, and waits until each stream has it. */
export class Healing implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;

  private constructor(server: LoadServer, readers: Readers) {
    this.#server = server;
    this.#readers = readers;
  }

  static async start(server: LoadServer, held: Held): Promise<Healing> {
    return new Healing(server, await Readers.holding(server.listen, held));
  }

  async round(): Promise<Sample> {
    this.#readers.reset();
    const started = performance.now();
    await (await fetch(new URL('/reset', this.#server.publish), { method: 'POST' })).text();
    await this.#publish();
    await this.#readers.until(({ events }) => events > 0);
    const heal = performance.now() - started;
    await wait(SETTLE_MS);
    return { heal };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }

  /** Publishes again until the bus accepts it: a bus that is being reset may refuse. */
  async #publish(): Promise<void> {
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
/** The runtime holds back objects that are reset too often in a row. */
const SETTLE_MS = 1_000;
