import type { Contender, Sample } from '../../harness/experiment.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import { processorMs } from '../servers/processor.ts';
import { type LoadServer, publish } from '../servers/server.ts';

/** The load of a server. */
export interface Load {
  streams: number;
  /** Resources that every stream watches. A wave changes each of them once, so no cue collapses. */
  uris: number;
  /** Waves of one round; each begins when every stream has the one before. */
  waves: number;
}

/**
 * Frames a second over the network, from the request that publishes a wave to the last frame at the
 * client. All streams have the same subscription id, as those of one kind of client do.
 */
export class Delivery implements Contender {
  readonly #server: LoadServer;
  readonly #readers: Readers;
  readonly #load: Load;
  readonly #uris: string[];

  private constructor(server: LoadServer, readers: Readers, load: Load, uris: string[]) {
    this.#server = server;
    this.#readers = readers;
    this.#load = load;
    this.#uris = uris;
  }

  static async start(server: LoadServer, load: Load): Promise<Delivery> {
    const readers = new Readers();
    const uris = Array.from({ length: load.uris }, (_, index) => resourceUri(index));
    const { isolates = [server.listen] } = server;
    for (const isolate of isolates)
      await readers.open(isolate, listenFor(uris, '1'), load.streams / isolates.length);
    return new Delivery(server, readers, load, uris);
  }

  async round(): Promise<Sample> {
    const { streams, uris, waves } = this.#load;
    const before = await processorMs(this.#server.pid);
    const started = performance.now();
    for (let wave = 0; wave < waves; wave += 1) await this.#wave();
    const spent = performance.now() - started;
    const cpu = (await processorMs(this.#server.pid)) - before;
    const frames = streams * uris * waves;
    return { rate: frames / spent, cpu: (cpu * 1000) / frames };
  }

  async leave(): Promise<void> {
    this.#readers.drop();
    await this.#server.stop();
  }

  async #wave(): Promise<void> {
    const arrived = this.#readers.expect(this.#uris.length);
    await Promise.all([publish(this.#server, this.#uris), arrived]);
    this.#readers.verify(this.#uris.length, this.#uris.at(-1) ?? '');
  }
}
