import { CALM, type StreamTally } from './held-stream.js';
import type { StreamOptions } from './stream-options.js';
import { expiry } from './times.js';
import { CALM_MS, surviving } from './trap.js';
import { Edge, type Retirement } from './wasm.js';

/** When a stream is to end by itself, and why. */
export interface Retiring {
  at: number;
  why: Retirement;
}

/** What there is of a stream outside the core: with that it goes on where the core has begun anew. */
export class Recollection {
  /** Whether its client has been written anything; the acknowledgment comes first. */
  hasWritten = false;
  /** What it is made of. Nothing can be made of a stream that has not been opened, or that has begun to end: its last words may have been said. */
  memo: string | undefined;
  readonly #options: StreamOptions;
  #planned: Retiring | undefined;
  #recalledAt = Number.NEGATIVE_INFINITY;
  #expiresAt: number | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#expiresAt = options.expiresAt;
  }

  /** Of several moments the earliest counts. */
  plan(retiring: Retiring): void {
    if (this.#planned === undefined || retiring.at < this.#planned.at) this.#planned = retiring;
  }

  /** Says to the core how the stream is wired up. */
  equip(edge: Edge): void {
    const { attachMs, tally, verifyMs } = this.#options;
    edge.setPatience(attachMs, verifyMs);
    edge.countIn(tally(), Date.now() - performance.now());
  }

  /** Who the caller is was asked again: what a new core would be told, and when its credentials expire. */
  renew(edge: Edge, expiresAt: number | undefined): void {
    this.#expiresAt = expiresAt;
    edge.expireAt(expiresAt === undefined ? undefined : expiry(expiresAt));
    if (this.memo !== undefined) this.memo = edge.memo;
  }

  /** Says to the core when the stream is to end by itself. */
  limit(edge: Edge): void {
    edge.stallAfter(this.#options.stallMs);
    if (this.#expiresAt !== undefined) edge.expireAt(expiry(this.#expiresAt));
    if (this.#planned !== undefined) edge.retireAt(this.#planned.at, this.#planned.why);
  }

  /** The stream in the core as it is now; undefined: it cannot go on, or did so a short while ago. */
  recall(now: number): Edge | undefined {
    const { memo } = this;
    if (memo === undefined || now - this.#recalledAt < CALM_MS) return undefined;
    this.#recalledAt = now;
    let recalled: Edge | undefined;
    surviving(() => {
      const { grant, keepAliveMs } = this.#options;
      // What was allowed may be allowed no more: that is asked before anything is told.
      const edge = Edge.recalled(memo, this.hasWritten, keepAliveMs, grant?.ms ?? 0, now);
      if (edge === undefined) return;
      this.equip(edge);
      this.limit(edge);
      recalled = edge;
    });
    return recalled;
  }
}

/** How a stream fares; what a former core has counted is not known any more. */
export function tallyOf(edge: Edge): StreamTally {
  let tally = CALM;
  surviving(() => {
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0] = edge.counts;
    tally = { isAway: edge.isAway, outages, healed, gaps, resyncs };
  });
  return tally;
}
