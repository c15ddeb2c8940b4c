import type { AttachableBus } from '../bus/attachable-bus.js';
import { MAX_TOPICS, sumListeners } from '../bus/operator/listeners.js';
import type { BusOperator, OperatedStreams } from '../bus/operator/operator.js';
import type { ServerEvent } from '../model/event.js';
import type { DrainOrder, Snapshot, SnapshotOptions } from '../model/stats/snapshot.js';
import { isolateId } from '../observe/isolate-id.js';
import { report } from '../observe/on-error.js';

/** Watches and operates the streams of a server whose bus has no objects: those of this process. */
export class ProcessOperator implements BusOperator {
  readonly #bus: AttachableBus;
  readonly #streams: OperatedStreams;

  constructor(bus: AttachableBus, streams: OperatedStreams) {
    this.#bus = bus;
    this.#streams = streams;
  }

  async snapshot({ hasCallers }: SnapshotOptions): Promise<Snapshot> {
    const isolate = isolateId();
    const streams = this.#streams.stats();
    const { callers, topics } = sumListeners([this.#streams.listeners(MAX_TOPICS, hasCallers)]);
    return {
      at: Date.now(),
      isolate,
      streams,
      objects: [],
      isolates: [{ isolate, streams }],
      topics,
      ...(hasCallers && { callers }),
      log: [],
    };
  }

  async drain({ count, isolate = isolateId(), windowMs }: DrainOrder): Promise<string[]> {
    if (isolate !== isolateId()) return [];
    // It ends when the last stream has ended, which may take the whole window.
    const drained = this.#streams.drain({ count, windowMs }).catch(report);
    this.#bus.waitUntil?.(drained);
    return [isolate];
  }

  async publish(events: string[]): Promise<undefined> {
    await this.#bus.publishAll(events.map((event) => JSON.parse(event) as ServerEvent));
  }
}
