import { LISTEN_HEADERS } from '../../wasm-tests/host/listen.ts';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import type { LoadServer } from './load-server.ts';

/** Milliseconds until a stream is refused whose bus answers no connection. */
export class Refusing implements Contender {
  readonly #server: LoadServer;

  constructor(server: LoadServer) {
    this.#server = server;
  }

  async round(): Promise<Sample> {
    const started = performance.now();
    const body = listenFor([resourceUri(0)], '1');
    const response = await fetch(this.#server.listen, {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body,
    });
    await response.text();
    const refused = performance.now() - started;
    if (response.status !== 503)
      throw new Error(`a listen without a bus was answered with ${response.status}`);
    return { refused };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }
}
