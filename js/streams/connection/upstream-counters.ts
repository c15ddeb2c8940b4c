import type { AttachmentCounters } from '../../bus/attachable-bus.js';

/** The counters of connections to a bus, each counted once for each stream. */
export class UpstreamCounters {
  readonly #sums = { outages: 0, healed: 0, gaps: 0, resyncs: 0 };

  /** The sums so far. */
  get sums(): Omit<Required<AttachmentCounters>, 'away'> {
    return { ...this.#sums };
  }

  /** Adds the changes of the core's counts, which `streams` streams have in common. */
  add(before: readonly number[], after: readonly number[], streams: number): void {
    const changes = after.map((count, index) => (count - (before[index] ?? 0)) * streams);
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0] = changes;
    this.#sums.outages += outages;
    this.#sums.healed += healed;
    this.#sums.gaps += gaps;
    this.#sums.resyncs += resyncs;
  }
}
