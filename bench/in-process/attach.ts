import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import type { Scenario } from './scenario.ts';
import type { Server } from './server.ts';

/**
 * Opens further streams beside those of a scenario, and drops them again: what one listen costs
 * among many.
 */
export class Attach implements Contender {
  readonly #server: Server;
  readonly #held: Audience;
  readonly #scenario: Scenario;

  private constructor(server: Server, held: Audience, scenario: Scenario) {
    this.#server = server;
    this.#held = held;
    this.#scenario = scenario;
  }

  static async start(server: Server, scenario: Scenario): Promise<Attach> {
    return new Attach(server, await Audience.open(server, scenario), scenario);
  }

  /** From making the request to reading the acknowledgment. */
  async round(): Promise<Sample> {
    const started = performance.now();
    const further = await Audience.open(this.#server, {
      ...this.#scenario,
      streams: FURTHER,
      matching: FURTHER,
    });
    const spent = performance.now() - started;
    further.leave();
    await new Promise(setImmediate);
    return { attach: (spent * 1000) / FURTHER };
  }

  async leave(): Promise<void> {
    this.#held.leave();
  }
}

const FURTHER = 500;
