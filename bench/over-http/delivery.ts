import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import { type LoadServer, publish } from './load-server.ts';
import { processorMs } from './processor.ts';

/** How a server is loaded. */
export interface Load {
  streams: number;
  /**
   * Resources that every stream watches; one wave changes each of them once, so no cue can
   * collapse.
   */
  uris: number;
  /** Waves of one round; each begins when everybody has the one before. */
  waves: number;
}

/**
 * Frames a second over the network, from the request that publishes a wave to the last frame at the
 * client. Every stream has the same subscription id, as clients of one make have.
 */
export class Delivery implements Contender {
  readonly #server: LoadServer;
  readonly #audience: Audience;
  readonly #load: Load;
  readonly #uris: string[];

  private constructor(server: LoadServer, audience: Audience, load: Load, uris: string[]) {
    this.#server = server;
    this.#audience = audience;
    this.#load = load;
    this.#uris = uris;
  }

  static async start(server: LoadServer, load: Load): Promise<Delivery> {
    const audience = new Audience();
    const uris = Array.from({ length: load.uris }, (_, index) => resourceUri(index));
    const { isolates = [server.listen] } = server;
    for (const isolate of isolates)
      await audience.open(isolate, listenFor(uris, '1'), load.streams / isolates.length);
    return new Delivery(server, audience, load, uris);
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
    this.#audience.drop();
    await this.#server.stop();
  }

  async #wave(): Promise<void> {
    const arrived = this.#audience.expect(this.#uris.length);
    await Promise.all([publish(this.#server, this.#uris), arrived]);
    this.#audience.verify(this.#uris.length, this.#uris.at(-1) ?? '');
  }
}
