import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { quantile } from '../../harness/statistics.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import type { LoadServer } from '../servers/server.ts';
import { acknowledge } from './acknowledging.ts';
import { IDLE_MS, wakesOf } from './waking.ts';

/**
 * Milliseconds from the connection to the acknowledgment, of streams opened one by one in an
 * isolate without any: each of them connects to the bus.
 */
export class FirstAcknowledging implements Contender {
  readonly #server: LoadServer;
  #opened = 0;

  constructor(server: LoadServer) {
    this.#server = server;
  }

  async round(): Promise<Sample> {
    const all: number[] = [];
    for (let turn = 0; turn < OPENS; turn += 1) {
      await this.#alone();
      this.#opened += 1;
      all.push(await acknowledge(this.#server, resourceUri(this.#opened)));
    }
    return { ack: quantile(all, 0.5) };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }

  /** Resolves once the bus has no socket: the stream before has left it. */
  async #alone(): Promise<void> {
    const { sockets } = this.#server;
    if (sockets === undefined) return;
    const deadline = performance.now() + LEFT_MS;
    while ((await (await fetch(sockets)).json()) !== 0) {
      if (performance.now() > deadline) throw new Error('the socket of a dropped stream stays');
      await wait(5);
    }
  }
}

/** The same for a new topic, in an isolate with another stream, while the bus hibernates. */
export class WakingAcknowledging implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  #opened = 0;

  private constructor(server: LoadServer, readers: Readers) {
    this.#server = server;
    this.#readers = readers;
  }

  static async start(server: LoadServer): Promise<WakingAcknowledging> {
    const readers = new Readers();
    await readers.open(server.listen, listenFor([resourceUri(0)], '1'), 1);
    return new WakingAcknowledging(server, readers);
  }

  async round(): Promise<Sample> {
    const wakes = await wakesOf(this.#server);
    await wait(IDLE_MS);
    this.#opened += 1;
    const ack = await acknowledge(this.#server, resourceUri(this.#opened));
    if ((await wakesOf(this.#server)) !== wakes + 1) throw new Error('the bus did not hibernate');
    return { ack };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }
}

const OPENS = 20;
/** Maximum milliseconds until a dropped stream has left the bus. */
const LEFT_MS = 5_000;
