import type { Contender, Sample } from '../harness/experiment.ts';
import type { Server } from '../servers/server.ts';
import { type HandOver, handOverOf } from './hand-over.ts';
import { Readers } from './readers.ts';
import { eventUri, type Scenario } from './scenario.ts';

/**
 * Publishes to streams that have readers. `publish` is the time until every frame is enqueued on
 * its stream. `delivered` is the time until every reader has its frame, which adds the same to each
 * contender. `cpu` is the processor time of `publish`, which varies less on a shared machine.
 */
export class FanOut implements Contender {
  readonly #server: Server;
  readonly #readers: Readers;
  readonly #scenario: Scenario;
  readonly #handOver: HandOver;

  private constructor(server: Server, readers: Readers, scenario: Scenario, handOver: HandOver) {
    this.#server = server;
    this.#readers = readers;
    this.#scenario = scenario;
    this.#handOver = handOver;
  }

  /** Opens all streams, and finds out with one event when this server hands frames over. */
  static async start(server: Server, scenario: Scenario): Promise<FanOut> {
    const readers = await Readers.open(server, scenario);
    const arrived = readers.expect(scenario.matching);
    const handOver = await handOverOf(
      () => server.publish(eventUri(scenario, 0)),
      scenario.matching,
    );
    await arrived;
    readers.verify(1);
    return new FanOut(server, readers, scenario, handOver);
  }

  async round(): Promise<Sample> {
    const { events, matching } = this.#scenario;
    this.#readers.reset();
    const spent = { ms: 0, cpu: 0 };
    const started = performance.now();
    for (let event = 0; event < events; event += 1) await this.#event(event, spent);
    const delivering = performance.now() - started;
    this.#readers.verify(events);
    return {
      publish: (spent.ms * 1000) / events,
      delivered: (delivering * 1000) / events,
      publishRate: (events * matching) / spent.ms / 1000,
      deliveredRate: (events * matching) / delivering / 1000,
      cpu: spent.cpu / events,
    };
  }

  async leave(): Promise<void> {
    this.#readers.leave();
  }

  async #event(event: number, spent: { ms: number; cpu: number }): Promise<void> {
    const arrived = this.#readers.expect(this.#scenario.matching);
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
