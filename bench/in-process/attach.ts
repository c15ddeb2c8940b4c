import type { Contender, Sample } from '../harness/experiment.ts';
import type { Server } from '../servers/server.ts';
import { Readers } from './readers.ts';
import type { Scenario } from './scenario.ts';

/** Opens more streams beside those of a scenario and drops them: the cost of one listen. */
export class Attach implements Contender {
  readonly #server: Server;
  readonly #held: Readers;
  readonly #scenario: Scenario;

  private constructor(server: Server, held: Readers, scenario: Scenario) {
    this.#server = server;
    this.#held = held;
    this.#scenario = scenario;
  }

  static async start(server: Server, scenario: Scenario): Promise<Attach> {
    return new Attach(server, await Readers.open(server, scenario), scenario);
  }

  /** Measures from making the request to reading the acknowledgment. */
  async round(): Promise<Sample> {
    const started = performance.now();
    const further = await Readers.open(this.#server, {
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
