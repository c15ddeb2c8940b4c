import type { Contender, Sample } from '../../harness/experiment.ts';
import type { LoadServer } from '../servers/server.ts';

/** Milliseconds of a call from a Worker to an empty method of an object, the mean of many. */
export class RoundTrip implements Contender {
  readonly #server: LoadServer;

  constructor(server: LoadServer) {
    this.#server = server;
  }

  async round(): Promise<Sample> {
    const started = performance.now();
    const response = await fetch(new URL(`/trips?times=${TRIPS}`, this.#server.listen));
    await response.text();
    if (!response.ok) throw new Error(`the trips got status ${response.status}`);
    return { ack: (performance.now() - started) / TRIPS };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }
}

/** Enough calls to make the cost of the request around them negligible. */
const TRIPS = 500;
