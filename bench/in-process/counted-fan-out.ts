import type { Contender, Sample } from '../harness/experiment.ts';
import type { Server } from '../servers/server.ts';
import { EnqueuedFrames } from './enqueued-frames.ts';
import { Readers } from './readers.ts';
import { eventUri, type Scenario } from './scenario.ts';

/**
 * As `FanOut`, for servers that hand frames over later than their publish resolves: the time ends
 * with the last frame that is enqueued.
 */
export class CountedFanOut implements Contender {
  readonly #server: Server;
  readonly #readers: Readers;
  readonly #scenario: Scenario;
  readonly #enqueued = new EnqueuedFrames();

  private constructor(server: Server, readers: Readers, scenario: Scenario) {
    this.#server = server;
    this.#readers = readers;
    this.#scenario = scenario;
  }

  /** Opens all streams. */
  static async start(server: Server, scenario: Scenario): Promise<CountedFanOut> {
    return new CountedFanOut(server, await Readers.open(server, scenario), scenario);
  }

  async round(): Promise<Sample> {
    const { events, matching } = this.#scenario;
    this.#readers.reset();
    const spent = { ms: 0, cpu: 0 };
    for (let event = 0; event < events; event += 1) {
      const arrived = this.#readers.expect(matching);
      const handedOver = this.#enqueued.expect(matching);
      const published = this.#server.publish(eventUri(this.#scenario, event));
      const { cpu, ms } = await handedOver;
      spent.cpu += cpu;
      spent.ms += ms;
      await Promise.all([published, arrived]);
    }
    this.#readers.verify(events);
    return {
      cpu: spent.cpu / events,
      publish: (spent.ms * 1_000) / events,
      bytes: this.#readers.frameBytes,
    };
  }

  async leave(): Promise<void> {
    this.#readers.leave();
  }
}
