import type { ListenStats } from '../../model/stats/listen.js';
import type { DrainOrder, Snapshot, SnapshotOptions } from '../../model/stats/snapshot.js';

/** The streams of one server, as the operator of its bus reaches them. */
export interface OperatedStreams {
  /** Returns the counters. */
  stats(): ListenStats;
  /** Ends streams, see {@link DrainOrder}. */
  drain(order: Pick<DrainOrder, 'count' | 'windowMs'>): Promise<void>;
  /**
   * Returns the topics with the most streams that are not attached to the bus through connections
   * of the bus itself.
   */
  listeners(max: number, hasCallers: boolean): Listeners;
  /** Returns how many streams a caller has open, by the name that `principal` gave it. */
  streamsOf(principal: string): number;
}

/** A bus that can be asked how many streams a caller has, in all processes or isolates. */
export interface CountedBus {
  /**
   * Resolves with how many streams the caller that the option `principal` named `principal` has
   * open, at all servers of the bus in all processes or isolates. Those that do not reply within
   * half a second are not counted, and of two bus objects of the same name in one isolate only one
   * is.
   *
   * @throws ListenError (as a rejection) `bus-unavailable`, `bus-overloaded`; `not-supported`: a
   *   bus over a broker was created without `wanted`.
   */
  listeners(principal: string): Promise<number>;
}

/** Topics and the number of streams of each. */
export type Listeners = [topic: string, streams: number][];

/** Watches and operates a bus, with all its objects and isolates. */
export interface BusOperator {
  /** Returns what the bus and its isolates report now. */
  snapshot(options: SnapshotOptions): Promise<Snapshot>;
  /** Ends streams. Resolves with the ids of the isolates that have begun. */
  drain(order: DrainOrder): Promise<string[]>;
  /**
   * Publishes events, each given as JSON text: all or none. Resolves with the position of the last
   * one; undefined if the bus has no positions.
   */
  publish(events: string[]): Promise<number | undefined>;
}
