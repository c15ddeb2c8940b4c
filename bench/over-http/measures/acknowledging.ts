import type { Contender, Sample } from '../../harness/experiment.ts';
import { quantile } from '../../harness/statistics.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import { Stream } from '../client/stream.ts';
import type { LoadServer } from '../servers/server.ts';

/** Milliseconds from the connection to the acknowledgment, of streams opened one by one. */
export class Acknowledging implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  readonly #topics: 'followed' | 'new';
  #opened = 0;

  private constructor(server: LoadServer, readers: Readers, topics: 'followed' | 'new') {
    this.#server = server;
    this.#readers = readers;
    this.#topics = topics;
  }

  /**
   * Opens a stream that keeps the connection to the bus open. Streams of a round follow its topic,
   * or a new one each.
   */
  static async start(server: LoadServer, topics: 'followed' | 'new'): Promise<Acknowledging> {
    const readers = new Readers();
    await readers.open(server.listen, listenFor([resourceUri(0)], '1'), 1);
    return new Acknowledging(server, readers, topics);
  }

  async round(): Promise<Sample> {
    const all: number[] = [];
    for (let turn = 0; turn < OPENS; turn += 1) all.push(await this.#open());
    return { ack: quantile(all, 0.5), p99: quantile(all, 0.99) };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }

  async #open(): Promise<number> {
    this.#opened += 1;
    return acknowledge(this.#server, resourceUri(this.#topics === 'new' ? this.#opened : 0));
  }
}

/** Opens a stream and drops it again. Resolves with the milliseconds to its acknowledgment. */
export async function acknowledge({ listen }: LoadServer, uri: string): Promise<number> {
  const started = performance.now();
  const stream = new Stream(listen, listenFor([uri], '1'), () => {});
  await stream.acknowledged();
  const spent = performance.now() - started;
  stream.drop();
  return spent;
}

const OPENS = 200;
