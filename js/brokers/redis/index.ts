/**
 * A bus over Redis. It uses the client `redis`.
 *
 * @packageDocumentation
 */
import '#runtime';
import { createClient } from 'redis';
import { BrokerBus, type ProcessBus, type ProcessBusOptions } from '../../bus/broker-bus.js';
import { retentionOf } from '../../bus/retention.js';
import { RedisBroker, type RedisClient } from './redis-broker.js';

export type { ProcessBus, ProcessBusOptions, ProcessBusStats } from '../../bus/broker-bus.js';
export type { RedisClient } from './redis-broker.js';

/**
 * Returns the bus of all processes that use the same Redis (6.2 or later, or Valkey). `server` is a
 * URL, or a client made by `createClient`. The bus uses only the settings of the client, which need
 * not be connected: it opens two connections itself, which reconnect automatically.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const bus = redisBus('redis://127.0.0.1:6379', { bus: 'notebook' });
 * const server = createListenHandler(handler, { bus });
 * ```
 */
export function redisBus(
  server: string | RedisClient,
  options: ProcessBusOptions = {},
): ProcessBus {
  const client: RedisClient = typeof server === 'string' ? createClient({ url: server }) : server;
  const { logEvents } = retentionOf(options);
  return new BrokerBus(new RedisBroker(client, options.bus ?? 'mcp-listen', logEvents), options);
}
