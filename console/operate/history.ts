import type { ListenStats, Snapshot } from 'mcp-listen';
import { estimatedPercentile, increase, type Ranges, sumOf } from './percentile.js';

/** What changed in one second, over all isolates. */
export interface Second {
  /** When the snapshot was taken, in seconds since 1970. */
  at: number;
  published: number;
  events: number;
  written: number;
  collapsed: number;
  ended: Counts;
  refused: Counts;
  acknowledgments: Ranges;
  deliveries: Ranges;
  arrivals: ArrivalPercentiles;
}

/** Percentiles of the delays of what arrived at the page, by their shares; empty without any. */
export type ArrivalPercentiles = Readonly<Record<number, number>>;

/** What is delayed: acknowledgments, and notifications until they arrive or are written. */
export type DelayKind = 'acknowledgments' | 'arrivals' | 'deliveries';

/** Numbers by their reason. */
export type Counts = Record<string, number>;

/** Sums since the page began to watch. */
export interface Totals {
  written: number;
  collapsed: number;
  ended: number;
  refused: number;
  /** Events of the log that the page has not received. */
  missed: number;
}

/**
 * The last five minutes of a bus. Each isolate counts from its start, so the counters of each are
 * compared with its previous ones. What an isolate counted before it was first seen is left out.
 * What changed while the page did not watch is in the totals, and in no second.
 */
export class StatsHistory {
  readonly seconds: Second[] = [];
  readonly totals: Totals = { written: 0, collapsed: 0, ended: 0, refused: 0, missed: 0 };
  readonly #isolates = new Map<string, ListenStats>();
  #position: number | undefined;
  #last: number | undefined;

  /** Adds a snapshot, and the percentiles of the delays of what has arrived at the page. */
  add({ at, bus, isolates, log }: Snapshot, arrivals: ArrivalPercentiles = {}): void {
    const changes = isolates.map(({ isolate, streams }) => this.#changeOf(isolate, streams));
    const position = bus?.position ?? 0;
    const second: Second = {
      at: at / 1_000,
      published: Math.max(0, position - (this.#position ?? position)),
      events: sum(changes, 'events'),
      written: sum(changes, 'notifications'),
      collapsed: sum(changes, 'collapsed'),
      ended: merged(changes.map(({ ended }) => ended)),
      refused: merged(changes.map(({ refused }) => refused)),
      acknowledgments: sumOf(changes.map(({ acknowledged }) => acknowledged)),
      deliveries: sumOf(changes.map(({ written }) => written)),
      arrivals,
    };
    this.#position = position;
    this.#count(
      second,
      log.map((event) => event.position),
    );
    const since = second.at - (this.seconds.at(-1)?.at ?? second.at);
    this.seconds.push({ ...second, ...(since > PAUSE && NOTHING) });
    while ((this.seconds[0]?.at ?? second.at) <= second.at - MAX_SECONDS) this.seconds.shift();
  }

  /** Returns a percentile of the last ten seconds before each second, for a chart. */
  percentiles(of: DelayKind, share: number): (number | null)[] {
    return this.seconds.map(({ arrivals }, index) => {
      if (of === 'arrivals') return arrivals[share] ?? null;
      const last = this.seconds.slice(Math.max(0, index + 1 - WINDOW), index + 1);
      return estimatedPercentile(sumOf(last.map((second) => second[of])), share) ?? null;
    });
  }

  #changeOf(isolate: string, now: ListenStats): ListenStats {
    const former = this.#isolates.get(isolate) ?? now;
    // The isolates that were seen last stay.
    this.#isolates.delete(isolate);
    this.#isolates.set(isolate, now);
    const [oldest] = this.#isolates.keys();
    if (this.#isolates.size > MAX_ISOLATES && oldest !== undefined) this.#isolates.delete(oldest);
    return {
      ...now,
      events: rise(now.events, former.events),
      notifications: rise(now.notifications, former.notifications),
      collapsed: rise(now.collapsed, former.collapsed),
      ended: rises(now.ended, former.ended) as ListenStats['ended'],
      refused: rises(now.refused, former.refused) as ListenStats['refused'],
      acknowledged: increase(now.acknowledged, former.acknowledged) as ListenStats['acknowledged'],
      written: increase(now.written, former.written) as ListenStats['written'],
    };
  }

  #count({ collapsed, ended, refused, written }: Second, positions: number[]): void {
    this.totals.written += written;
    this.totals.collapsed += collapsed;
    this.totals.ended += total(ended);
    this.totals.refused += total(refused);
    for (const position of positions) {
      if (this.#last !== undefined) this.totals.missed += Math.max(0, position - this.#last - 1);
      this.#last = position;
    }
  }
}

/** Returns the sum of all counts. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function sum(changes: ListenStats[], name: 'events' | 'notifications' | 'collapsed'): number {
  return changes.reduce((all, change) => all + change[name], 0);
}

function merged(all: Counts[]): Counts {
  const sums: Counts = {};
  for (const counts of all)
    for (const [reason, count] of Object.entries(counts))
      if (count > 0) sums[reason] = (sums[reason] ?? 0) + count;
  return sums;
}

/** A core that was reset counts from 0. */
function rise(now: number, former: number): number {
  return now >= former ? now - former : now;
}

function rises(now: Counts, former: Counts): Counts {
  return Object.fromEntries(
    Object.entries(now).map(([reason, count]) => [reason, rise(count, former[reason] ?? 0)]),
  );
}

const NOTHING: Omit<Second, 'arrivals' | 'at'> = {
  ...{ published: 0, events: 0, written: 0, collapsed: 0 },
  ...{ ended: {}, refused: {}, acknowledgments: [], deliveries: [] },
};
const MAX_SECONDS = 300;
/** Seconds between two snapshots after which the page did not watch. */
const PAUSE = 5;
const MAX_ISOLATES = 1_000;
/** Seconds of a percentile. */
const WINDOW = 10;
