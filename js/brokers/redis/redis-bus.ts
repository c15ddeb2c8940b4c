import { BrokerBus, type ProcessBus, type ProcessBusOptions } from '../../bus/broker-bus.js';
import { retentionOf } from '../../bus/retention.js';
import { ListenError } from '../../model/error.js';
import { RedisBroker } from './broker.js';
import type { RedisConnections } from './connection.js';
import { type IoRedisClient, IoRedisConnections } from './ioredis.js';
import { RedisLog } from './log.js';
import { type NodeRedisClient, NodeRedisConnections } from './node-redis.js';
import { RedisWriter } from './writer.js';

/** A client of the package `redis` or `ioredis`. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/**
 * Returns the bus of all processes that use the same Redis (6.2 or later) or Valkey. `server` is a
 * URL, which needs the package `redis`, or a client that `createClient` of `redis` or `new Redis`
 * of `ioredis` has made. The bus uses only the settings of the client, which need not be connected:
 * it opens two connections itself, and one more for each of `events` and `wanted`, which reconnect
 * automatically.
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
  const { bus: name = 'mcp-listen', events } = options;
  const connections = connectionsOf(server);
  const writer = new RedisWriter(connections);
  const log = events && new RedisLog(connections, writer, { name, ...events.kept });
  const { logEvents: window } = retentionOf(options);
  return new BrokerBus(new RedisBroker(connections, { log, name, window, writer }), options);
}

function connectionsOf(server: string | RedisClient): RedisConnections {
  if (typeof server === 'string') return new NodeRedisConnections(() => clientOf(server));
  if ('isCluster' in server && server.isCluster)
    throw new ListenError(
      'invalid-options',
      'the client of a cluster has no settings of one server',
    );
  if ('call' in server) return new IoRedisConnections(server);
  return new NodeRedisConnections(async () => server);
}

/** Loads the package `redis` only for a URL: a server with `ioredis` does not need it. */
async function clientOf(url: string): Promise<NodeRedisClient> {
  try {
    const { createClient } = await import('redis');
    return createClient({ url });
  } catch (cause) {
    throw new ListenError('invalid-options', 'a URL of Redis needs the package redis', { cause });
  }
}
