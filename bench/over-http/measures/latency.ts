import type { Contender, Sample } from '../../harness/experiment.ts';
import { quantile } from '../../harness/statistics.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import { processorMs } from '../servers/processor.ts';
import { type LoadServer, publish } from '../servers/server.ts';

/** The load of a server. */
export interface LatencyLoad {
  streams: number;
  /** Streams that do not receive the events. Default: 0. */
  others?: number;
  /** Publishes of one round. */
  publishes: number;
}

/** Milliseconds from the request that publishes one change until the last stream has it. */
export class Latency implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  readonly #publishes: number;

  private constructor(server: LoadServer, readers: Readers, publishes: number) {
    this.#server = server;
    this.#readers = readers;
    this.#publishes = publishes;
  }

  /** Opens the streams that receive the events, after `others` that do not. */
  static async start(
    server: LoadServer,
    { streams, others = 0, publishes }: LatencyLoad,
  ): Promise<Latency> {
    await new Readers().open(server.listen, listenFor([resourceUri(2)], '1'), others);
    const readers = new Readers();
    await readers.open(server.listen, listenFor(WATCHED, '1'), streams);
    return new Latency(server, readers, publishes);
  }

  async round(): Promise<Sample> {
    const all: number[] = [];
    const before = await processorMs(this.#server.pid);
    for (let turn = 0; turn < this.#publishes; turn += 1) all.push(await this.#publish(turn));
    const cpu = (await processorMs(this.#server.pid)) - before;
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), cpu: cpu / this.#publishes };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }

  async #publish(turn: number): Promise<number> {
    const uri = WATCHED[turn % WATCHED.length] ?? '';
    const started = performance.now();
    const arrived = this.#readers.expect(1).then(() => performance.now() - started);
    const [spent] = await Promise.all([arrived, publish(this.#server, [uri])]);
    this.#readers.verify(1, uri);
    return spent;
  }
}

/** Two resources in turn, so that the last frame shows which publish it is of. */
const WATCHED = [resourceUri(0), resourceUri(1)];
