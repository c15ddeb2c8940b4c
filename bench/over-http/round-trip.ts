import type { Contender, Sample } from '../harness/experiment.ts';
import type { LoadServer } from './load-server.ts';

/**
 * Milliseconds of a call from a Worker to an object that does nothing, of calls one after another
 * within one request.
 */
export class RoundTrip implements Contender {
  readonly #server: LoadServer;

  constructor(server: LoadServer) {
    this.#server = server;
  }

  async round(): Promise<Sample> {
    const started = performance.now();
    const response = await fetch(new URL(`/trips?times=${TRIPS}`, this.#server.listen));
    await response.text();
    if (!response.ok) throw new Error(`the trips were answered with ${response.status}`);
    return { ack: (performance.now() - started) / TRIPS };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }
}

/** So many that the one request in which they are made does not count. */
const TRIPS = 500;
