import type { RetentionOptions } from '../../bus/retention.js';
import { ListenError } from '../../model/error.js';
import type { IdempotencyOptions } from './tables/idempotency-keys.js';

/** How a {@link SubscriptionBus} works. */
export interface SubscriptionBusOptions extends RetentionOptions, IdempotencyOptions {
  /**
   * Number of streams that one object holds. Streams of an isolate that share a socket count as
   * one. With more streams the bus opens shards. From 1 to 32,768, the runtime's limit for sockets;
   * 0 is `invalid-options`.
   *
   * @default 2_000
   */
  edgesPerShard?: number;
  /**
   * Bytes of the names of all streams at one object, the bus or a shard: each URI, task, audience
   * and principal counts its bytes and 64 more, for each stream or shared socket that names it, and
   * at the bus for each shard that follows it. Beyond the limit streams get 503. Each stream or
   * socket may use 4,096 bytes, or its share of half of the limit if that is less; one alone gets
   * at most a 32nd of the limit. 0 accepts only streams without names.
   *
   * @default 33_554_432
   */
  namesBytes?: number;
  /**
   * Milliseconds for which a shard holds few streams (none, or less than half of the most that it
   * held) before it tells the bus, which then may close it and send the rest elsewhere. The shorter
   * it is, the more often shards close and open as streams come and go. 0 tells the bus at once; at
   * most 3,600,000.
   *
   * @default 10_000
   */
  shardCloseMs?: number;
}

/**
 * Bytes that the names of all streams of one object may count.
 *
 * @throws ListenError `invalid-options`.
 */
export function namesBytes({ namesBytes: bytes = 33_554_432 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= MAX_BYTES) return bytes;
  throw new ListenError(
    'invalid-options',
    `namesBytes is not a whole number from 0 to ${MAX_BYTES}`,
  );
}

/**
 * How many streams one object holds.
 *
 * @throws ListenError `invalid-options`.
 */
export function edgesPerShard({ edgesPerShard: edges = 2_000 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(edges) && edges >= 1 && edges <= MAX_SOCKETS) return edges;
  throw new ListenError(
    'invalid-options',
    `edgesPerShard is not a whole number from 1 to ${MAX_SOCKETS}`,
  );
}

/**
 * For how long a shard holds few streams before it tells the bus, in milliseconds.
 *
 * @throws ListenError `invalid-options`.
 */
export function shardCloseMs({ shardCloseMs: ms = 10_000 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= AN_HOUR) return ms;
  throw new ListenError(
    'invalid-options',
    `shardCloseMs is not a whole number from 0 to ${AN_HOUR}`,
  );
}

const AN_HOUR = 3_600_000;
const MAX_SOCKETS = 32_768;
/** All the memory of an object. */
const MAX_BYTES = 134_217_728;
