import { setTimeout as wait } from 'node:timers/promises';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import type { LoadServer } from './load-server.ts';
import { processorMs } from './processor.ts';

/**
 * Opens streams beside others, each from its connection to its acknowledgment, 64 at a time or all
 * at once, and drops them.
 */
export class Opening implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;
  readonly #further: number;
  readonly #atOnce: number | undefined;

  private constructor(server: LoadServer, audience: Audience, further: number, atOnce?: number) {
    this.#server = server;
    this.#audience = audience;
    this.#further = further;
    this.#atOnce = atOnce;
  }

  static async start(
    server: LoadServer,
    held: number,
    further: number,
    atOnce?: number,
  ): Promise<Opening> {
    const audience = new Audience();
    await audience.open(server.listen, LISTEN, held);
    return new Opening(server, audience, further, atOnce);
  }

  async round(): Promise<Sample> {
    const before = await processorMs(this.#server.pid);
    const started = performance.now();
    await this.#audience.open(this.#server.listen, LISTEN, this.#further, this.#atOnce);
    const spent = performance.now() - started;
    const cpu = (await processorMs(this.#server.pid)) - before;
    this.#audience.drop(this.#further);
    await wait(SETTLE_MS);
    return {
      opens: (this.#further * 1000) / spent,
      attach: spent / this.#further,
      cpu: cpu / this.#further,
    };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }
}

const LISTEN = listenFor([resourceUri(0)], '1');
/** What a server does for streams that have gone is not part of the next round. */
const SETTLE_MS = 500;
