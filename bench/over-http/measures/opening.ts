import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import { processorMs } from '../servers/processor.ts';
import type { LoadServer } from '../servers/server.ts';

/**
 * Opens streams beside others, 64 at a time or all at once, and drops them. Measures each from its
 * connection to its acknowledgment.
 */
export class Opening implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  readonly #further: number;
  readonly #atOnce: number | undefined;

  private constructor(server: LoadServer, readers: Readers, further: number, atOnce?: number) {
    this.#server = server;
    this.#readers = readers;
    this.#further = further;
    this.#atOnce = atOnce;
  }

  static async start(
    server: LoadServer,
    held: number,
    further: number,
    atOnce?: number,
  ): Promise<Opening> {
    const readers = new Readers();
    await readers.open(server.listen, LISTEN, held);
    return new Opening(server, readers, further, atOnce);
  }

  async round(): Promise<Sample> {
    const before = await processorMs(this.#server.pid);
    const started = performance.now();
    await this.#readers.open(this.#server.listen, LISTEN, this.#further, this.#atOnce);
    const spent = performance.now() - started;
    const cpu = (await processorMs(this.#server.pid)) - before;
    this.#readers.drop(this.#further);
    await wait(SETTLE_MS);
    return {
      opens: (this.#further * 1000) / spent,
      attach: spent / this.#further,
      cpu: cpu / this.#further,
    };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }
}

const LISTEN = listenFor([resourceUri(0)], '1');
/** Milliseconds in which the server cleans up after dropped streams, before the next round. */
const SETTLE_MS = 500;
