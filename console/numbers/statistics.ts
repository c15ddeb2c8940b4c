import { record } from '../mcp/json.js';

/** The numbers that the page shows. */
export interface Sample {
  /** Streams open, in all isolates. */
  streams: number;
  /** Events published. */
  events: number;
  /** Cues that collapsed, in the isolates seen so far. */
  collapsed: number;
  /** Number of times that every topic was cued, in the isolates seen so far. */
  resyncs: number;
}

/** The numbers after an answer. */
export interface Reading {
  /** The sums over all isolates. */
  totals: Sample;
  /** The increase since the previous answers. */
  increase: Sample;
}

/**
 * Combines the answers of the isolates of one server. Each isolate knows only its own streams, and
 * each answer comes from one of them.
 */
export class Statistics {
  readonly #isolates = new Map<string, Counts>();
  #shared: Shared | undefined;

  /**
   * Adds an answer of `/stats`.
   *
   * @throws Error if it is malformed.
   */
  add(answer: unknown): Reading {
    const { isolate, streams, bus } = record(answer) ?? {};
    if (typeof isolate !== 'string') throw new Error('the answer has no isolate');
    const counts = {
      collapsed: numberIn(streams, 'collapsed'),
      resyncs: numberIn(streams, 'resyncs'),
    };
    const shared = { streams: numberIn(bus, 'attached'), events: numberIn(bus, 'position') };
    // What an isolate counted before its first answer is not an increase.
    const [before, sharedBefore] = [this.#isolates.get(isolate) ?? counts, this.#shared ?? shared];
    this.#isolates.set(isolate, counts);
    this.#shared = shared;
    return {
      totals: { ...shared, collapsed: this.#sum('collapsed'), resyncs: this.#sum('resyncs') },
      increase: {
        streams: shared.streams - sharedBefore.streams,
        events: shared.events - sharedBefore.events,
        collapsed: counts.collapsed - before.collapsed,
        resyncs: counts.resyncs - before.resyncs,
      },
    };
  }

  #sum(key: keyof Counts): number {
    return [...this.#isolates.values()].reduce((sum, counts) => sum + counts[key], 0);
  }
}

function numberIn(value: unknown, key: string): number {
  const number = record(value)?.[key];
  if (typeof number !== 'number') throw new Error(`the answer has no number ${key}`);
  return number;
}

type Counts = Pick<Sample, 'collapsed' | 'resyncs'>;
type Shared = Pick<Sample, 'streams' | 'events'>;
