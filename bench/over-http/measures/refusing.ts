import { LISTEN_HEADERS } from '../../../wasm-tests/host/listen.ts';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import type { LoadServer } from '../servers/server.ts';

/** Milliseconds until the server refuses a stream because its bus does not reply. */
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
      throw new Error(`a listen without a bus got status ${response.status}`);
    return { refused };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }
}
