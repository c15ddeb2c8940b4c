import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import { type HandOver, handOverOf } from './hand-over.ts';
import { eventUri, type Scenario } from './scenario.ts';
import type { Server } from './server.ts';

/**
 * Publishes to streams that are being read. Two clocks run: `publish`, what the server needs until
 * every frame is handed to its stream, and `delivered`, until every reader has it, which costs each
 * contender the same on top. `cpu` is the processor's time of the former: on a shared machine it
 * varies less.
 */
export class FanOut implements Contender {
  readonly #server: Server;
  readonly #audience: Audience;
  readonly #scenario: Scenario;
  readonly #handOver: HandOver;

  private constructor(server: Server, audience: Audience, scenario: Scenario, handOver: HandOver) {
    this.#server = server;
    this.#audience = audience;
    this.#scenario = scenario;
    this.#handOver = handOver;
  }

  /** Opens all streams, and sees with one event when this server hands frames over. */
  static async start(server: Server, scenario: Scenario): Promise<FanOut> {
    const audience = await Audience.open(server, scenario);
    const arrived = audience.expect(scenario.matching);
    const handOver = await handOverOf(
      () => server.publish(eventUri(scenario, 0)),
      scenario.matching,
    );
    await arrived;
    audience.verify(1);
    return new FanOut(server, audience, scenario, handOver);
  }

  async round(): Promise<Sample> {
    const { events, matching } = this.#scenario;
    this.#audience.reset();
    const spent = { ms: 0, cpu: 0 };
    const started = performance.now();
    for (let event = 0; event < events; event += 1) await this.#event(event, spent);
    const delivering = performance.now() - started;
    this.#audience.verify(events);
    return {
      publish: (spent.ms * 1000) / events,
      delivered: (delivering * 1000) / events,
      publishRate: (events * matching) / spent.ms / 1000,
      deliveredRate: (events * matching) / delivering / 1000,
      cpu: spent.cpu / events,
    };
  }

  async leave(): Promise<void> {
    this.#audience.leave();
  }

  async #event(event: number, spent: { ms: number; cpu: number }): Promise<void> {
    const arrived = this.#audience.expect(this.#scenario.matching);
    const before = process.cpuUsage();
    const started = performance.now();
    const published = this.#server.publish(eventUri(this.#scenario, event));
    if (this.#handOver === 'on resolve') await published;
    spent.ms += performance.now() - started;
    const { user, system } = process.cpuUsage(before);
    spent.cpu += user + system;
    await Promise.all([published, arrived]);
  }
}
