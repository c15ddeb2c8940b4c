import { record } from '../mcp/json.js';

/** How the bus is, in numbers. */
export interface Sample {
  /** Streams open, in all isolates. */
  streams: number;
  /** Events published. */
  events: number;
  /** Cues that collapsed, in the isolates seen so far. */
  collapsed: number;
  /** Times that everything was cued, in the isolates seen so far. */
  resyncs: number;
}

/** What an answer adds to those before it. */
export interface Reading {
  /** All told. */
  totals: Sample;
  /** What is new since the answers before. */
  rise: Sample;
}

/**
 * Puts together what the isolates of one server answer in turn: each one knows its own streams
 * only.
 */
export class Statistics {
  readonly #isolates = new Map<string, Counts>();
  #shared: Shared | undefined;

  /**
   * Takes an answer of `/stats`.
   *
   * @throws Error where it is none.
   */
  take(answer: unknown): Reading {
    const { isolate, streams, bus } = record(answer) ?? {};
    if (typeof isolate !== 'string') throw new Error('the answer names no isolate');
    const counts = {
      collapsed: numberIn(streams, 'collapsed'),
      resyncs: numberIn(streams, 'resyncs'),
    };
    const shared = { streams: numberIn(bus, 'attached'), events: numberIn(bus, 'position') };
    // An isolate that is new to us counted before we looked: that is no rise.
    const [before, sharedBefore] = [this.#isolates.get(isolate) ?? counts, this.#shared ?? shared];
    this.#isolates.set(isolate, counts);
    this.#shared = shared;
    return {
      totals: { ...shared, collapsed: this.#sum('collapsed'), resyncs: this.#sum('resyncs') },
      rise: {
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
