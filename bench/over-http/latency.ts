import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { quantile } from '../harness/statistics.ts';
import { Audience } from './audience.ts';
import { type LoadServer, publish } from './load-server.ts';
import { processorMs } from './processor.ts';

/** How a server is asked. */
export interface LatencyLoad {
  streams: number;
  others?: number;
  /** How often in one round. */
  publishes: number;
}

/** Milliseconds from the request that publishes one change until the last of all streams has it. */
export class Latency implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;
  readonly #publishes: number;

  private constructor(server: LoadServer, audience: Audience, publishes: number) {
    this.#server = server;
    this.#audience = audience;
    this.#publishes = publishes;
  }

  /** Opens the streams that hear what is published, after `others` that do not. */
  static async start(
    server: LoadServer,
    { streams, others = 0, publishes }: LatencyLoad,
  ): Promise<Latency> {
    await new Audience().open(server.listen, listenFor([resourceUri(2)], '1'), others);
    const audience = new Audience();
    await audience.open(server.listen, listenFor(WATCHED, '1'), streams);
    return new Latency(server, audience, publishes);
  }

  async round(): Promise<Sample> {
    const all: number[] = [];
    const before = await processorMs(this.#server.pid);
    for (let turn = 0; turn < this.#publishes; turn += 1) all.push(await this.#publish(turn));
    const cpu = (await processorMs(this.#server.pid)) - before;
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), cpu: cpu / this.#publishes };
  }

  async leave(): Promise<void> {
    this.#audience.drop();
    await this.#server.stop();
  }

  async #publish(turn: number): Promise<number> {
    const uri = WATCHED[turn % WATCHED.length] ?? '';
    const started = performance.now();
    const arrived = this.#audience.expect(1).then(() => performance.now() - started);
    const [spent] = await Promise.all([arrived, publish(this.#server, [uri])]);
    this.#audience.verify(1, uri);
    return spent;
  }
}

/** Two, in turn: the last frame of one publish is told from that of the next. */
const WATCHED = [resourceUri(0), resourceUri(1)];
