import type { RetentionOptions } from '../../bus/retention.js';
import { ListenError } from '../../model/error.js';
import { HOUR_MS } from '../../timing/spans.js';
import type { IdempotencyOptions } from './tables/idempotency-keys.js';

/** Options of a {@link SubscriptionBus}. */
export interface SubscriptionBusOptions extends RetentionOptions, IdempotencyOptions {
  /**
   * Maximum number of streams at one object. Streams of an isolate that share a socket count as
   * one. With more streams the bus opens shards. From 1 to 32,768, the runtime's limit for sockets;
   * 0 is `invalid-options`.
   *
   * @default 2_000
   */
  edgesPerShard?: number;
  /**
   * Maximum bytes of the names of all streams at one object, the bus or a shard. Each URI, task,
   * group and principal counts as its bytes plus 64, once for each stream or shared socket that
   * names it and, at the bus, for each shard that follows it. Beyond the limit streams get 503.
   * Each stream or socket may use 4,096 bytes, or its share of half of the limit if that is less; a
   * single one gets at most a 32nd of the limit. 0 accepts only streams without names.
   *
   * @default 33_554_432
   */
  namesBytes?: number;
  /**
   * Milliseconds for which a shard has few streams (none, or less than half of its maximum so far)
   * before it reports this to the bus. The bus then closes it if it is empty, or closes all shards
   * and moves their streams back if half of `edgesPerShard` suffices for all. Smaller values make
   * shards close and open more often as streams come and go. Streams that lost their shard return
   * within 2 s: below 2,000 it may close meanwhile. 0 reports at once; at most 3,600,000.
   *
   * @default 10_000
   */
  shardCloseMs?: number;
}

/**
 * Returns the maximum bytes of the names of all streams at one object.
 *
 * @throws ListenError `invalid-options`.
 */
export function namesBytes({ namesBytes: bytes = 33_554_432 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= MAX_BYTES) return bytes;
  throw new ListenError(
    'invalid-options',
    `namesBytes must be a whole number from 0 to ${MAX_BYTES}`,
  );
}

/**
 * Returns the maximum number of streams at one object.
 *
 * @throws ListenError `invalid-options`.
 */
export function edgesPerShard({ edgesPerShard: edges = 2_000 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(edges) && edges >= 1 && edges <= MAX_SOCKETS) return edges;
  throw new ListenError(
    'invalid-options',
    `edgesPerShard must be a whole number from 1 to ${MAX_SOCKETS}`,
  );
}

/**
 * Returns the milliseconds for which a shard has few streams before it reports this to the bus.
 *
 * @throws ListenError `invalid-options`.
 */
export function shardCloseMs({ shardCloseMs: ms = 10_000 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= HOUR_MS) return ms;
  throw new ListenError(
    'invalid-options',
    `shardCloseMs must be a whole number from 0 to ${HOUR_MS}`,
  );
}

/** The maximum number of hibernating sockets of an object. */
const MAX_SOCKETS = 32_768;
/** The memory limit of an object, in bytes. */
const MAX_BYTES = 134_217_728;
