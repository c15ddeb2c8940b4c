import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { resourceUri } from '../../requests.ts';
import { type Held, Readers } from '../client/readers.ts';
import { type LoadServer, publish } from '../servers/server.ts';

/**
 * Lets the bus hibernate with its streams attached, and publishes. Measures how much longer that
 * publish takes than one to a bus that is awake, and than 1.2 times such a publish.
 */
export class Waking implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;

  private constructor(server: LoadServer, readers: Readers) {
    this.#server = server;
    this.#readers = readers;
  }

  static async start(server: LoadServer, held: Held): Promise<Waking> {
    return new Waking(server, await Readers.holding(server.listen, held));
  }

  async round(): Promise<Sample> {
    const wakes = await wakesOf(this.#server);
    await wait(IDLE_MS);
    const cold = await this.#publish();
    if ((await wakesOf(this.#server)) !== wakes + 1) throw new Error('the bus did not hibernate');
    const warm = Math.min(await this.#publish(), await this.#publish(), await this.#publish());
    return { wake: Math.max(0, cold - warm), cold, beyond: Math.max(0, cold - 1.2 * warm) };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }

  async #publish(): Promise<number> {
    const started = performance.now();
    const arrived = this.#readers.expect(1).then(() => performance.now() - started);
    const [spent] = await Promise.all([arrived, publish(this.#server, [WATCHED])]);
    this.#readers.verify(1, WATCHED);
    return spent;
  }
}

/** How often the object of the bus was started. Wakes it. */
export async function wakesOf({ publish: url }: LoadServer): Promise<number> {
  return (await (await fetch(new URL('/wakes', url))).json()) as number;
}

const WATCHED = resourceUri(0);
/** A Durable Object hibernates after ten seconds. */
export const IDLE_MS = 11_500;
