import type { Contender, Sample } from '../../harness/experiment.ts';
import type { LoadServer } from '../servers/server.ts';

/**
 * Milliseconds of a round trip from a Worker to an object, the mean of many: a call of an empty
 * method (`trips`), or a message over a WebSocket and its echo (`echoes`).
 */
export class RoundTrip implements Contender {
  readonly #server: LoadServer;
  readonly #kind: 'trips' | 'echoes';

  constructor(server: LoadServer, kind: 'trips' | 'echoes') {
    this.#server = server;
    this.#kind = kind;
  }

  async round(): Promise<Sample> {
    const started = performance.now();
    const response = await fetch(new URL(`/${this.#kind}?times=${TRIPS}`, this.#server.listen));
    await response.text();
    if (!response.ok) throw new Error(`the ${this.#kind} got status ${response.status}`);
    return { ack: (performance.now() - started) / TRIPS };
  }

  async leave(): Promise<void> {
    await this.#server.stop();
  }
}

/** Enough calls to make the cost of the request around them negligible. */
const TRIPS = 500;
