import type { LogOptions } from '../bus/log-options.js';
import { ListenError } from '../error.js';
import type { OnceOptions } from './once-table.js';

/** How a {@link SubscriptionBus} works. */
export interface SubscriptionBusOptions extends LogOptions, OnceOptions {
  /**
   * Streams that one object holds (default 2,000), where those of an isolate that share a socket count as one: beyond them, the bus opens
   * shards. At most 32,768, the runtime's limit for sockets.
   */
  edgesPerShard?: number;
}

/**
 * How many streams one object holds.
 *
 * @throws ListenError `invalid-options`.
 */
export function edgesPerShard({ edgesPerShard: edges = 2_000 }: SubscriptionBusOptions): number {
  if (Number.isSafeInteger(edges) && edges >= 1 && edges <= MOST_SOCKETS) return edges;
  throw new ListenError('invalid-options', `edgesPerShard is not a whole number from 1 to ${MOST_SOCKETS}`);
}

const MOST_SOCKETS = 32_768;
