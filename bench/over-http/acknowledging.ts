import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { quantile } from '../harness/statistics.ts';
import { Audience } from './audience.ts';
import type { LoadServer } from './load-server.ts';
import { Stream } from './stream.ts';

/**
 * Milliseconds from a connection to the acknowledgment of its stream, of streams that are opened
 * one after another.
 */
export class Acknowledging implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;
  readonly #topics: 'followed' | 'new';
  #opened = 0;

  private constructor(server: LoadServer, audience: Audience, topics: 'followed' | 'new') {
    this.#server = server;
    this.#audience = audience;
    this.#topics = topics;
  }

  /**
   * One stream holds the connection to the bus open; the others name what it names, or a resource
   * of their own each.
   */
  static async start(server: LoadServer, topics: 'followed' | 'new'): Promise<Acknowledging> {
    const audience = new Audience();
    await audience.open(server.listen, listenFor([resourceUri(0)], '1'), 1);
    return new Acknowledging(server, audience, topics);
  }

  async round(): Promise<Sample> {
    const all: number[] = [];
    for (let turn = 0; turn < OPENS; turn += 1) all.push(await this.#open());
    return { ack: quantile(all, 0.5), p99: quantile(all, 0.99) };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }

  async #open(): Promise<number> {
    this.#opened += 1;
    const uri = resourceUri(this.#topics === 'new' ? this.#opened : 0);
    const started = performance.now();
    const stream = new Stream(this.#server.listen, listenFor([uri], '1'), () => {});
    await stream.acknowledged();
    const spent = performance.now() - started;
    stream.drop();
    return spent;
  }
}

const OPENS = 200;
