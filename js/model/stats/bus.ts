import type { WebhookStats } from './webhooks.js';

/** Counters of a bus, of a shard, or of an object that delivers to webhooks. */
export interface BusStats {
  /**
   * Attached streams, including those that shards last reported. Streams of an isolate that share a
   * socket count as one.
   */
  attached: number;
  /** Open sockets of the object itself, attached or not. */
  sockets: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
  /** Subscriptions of webhooks; undefined if the bus delivers to none. */
  webhooks?: number | undefined;
  /** The counters of deliveries, of an object that delivers to webhooks. */
  deliveries?: WebhookStats | undefined;
  /** Frames from edges that were dropped since the object last woke. */
  dropped: number;
  /** The shards that hold streams, if there are more streams than one object holds. */
  shards: ShardStats[];
}

/** Counters of one shard. */
export interface ShardStats {
  /** The number of the shard, from 1. */
  shard: number;
  /** The continent whose clients it was opened for; empty if unknown. */
  continent: string;
  /**
   * Attached streams, as the shard last reported; undefined if it has not reported since the root
   * last woke.
   */
  attached: number | undefined;
}
