/**
 * A bus over Redis. It uses the client `redis`.
 *
 * @packageDocumentation
 */
import '#runtime';
import { createClient } from 'redis';
import { BrokerBus, type ProcessBus, type ProcessBusOptions } from '../../bus/broker-bus.js';
import { retentionOf } from '../../bus/retention.js';
import { NodeRedisConnections, type RedisClient } from './connection.js';
import { RedisBroker } from './redis-broker.js';
import { RedisLog } from './redis-log.js';
import { RedisWriter } from './writer.js';

export type { ProcessBus, ProcessBusOptions, ProcessBusStats } from '../../bus/broker-bus.js';
export type { RedisClient } from './connection.js';

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
  const { bus: name = 'mcp-listen', events } = options;
  const connections = new NodeRedisConnections(client);
  const writer = new RedisWriter(connections);
  const log = events && new RedisLog(connections, writer, { name, ...events.kept });
  const { logEvents: window } = retentionOf(options);
  return new BrokerBus(new RedisBroker(connections, { log, name, window, writer }), options);
}
