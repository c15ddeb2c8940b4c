import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { BrokerBus, type ProcessBus, type ProcessBusOptions } from '../../bus/broker-bus.js';
import { retentionOf } from '../../bus/retention.js';
import { ListenError } from '../../model/error.js';
import { NatsBroker } from './broker.js';
import { NatsConnectionManager } from './connection.js';

/** Options of {@link natsBus}. */
export interface NatsBusOptions extends ProcessBusOptions {
  /**
   * Whether events are kept in a JetStream stream with the name of the bus, which is created if it
   * does not exist. Without it, each loss of the connection is a gap, and occurrences of MCP Events
   * are delivered at most once.
   *
   * @default true if the server has JetStream, or with the option `events`
   */
  jetStream?: boolean;
}

/**
 * Returns the bus of all processes that use the same NATS. `server` is a URL, options of `connect`,
 * or a connection. A connection that was given stays open when the bus is closed, and reconnects as
 * its own options say.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const bus = natsBus('nats://127.0.0.1:4222', { bus: 'notebook' });
 * const server = createListenHandler(handler, { bus });
 * ```
 */
export function natsBus(
  server: string | ConnectionOptions | NatsConnection,
  options: NatsBusOptions = {},
): ProcessBus {
  const { bus: name = 'mcp-listen', events } = options;
  const jetStream = options.jetStream ?? (events && true);
  // The stream of the occurrences of a bus has its name and `-events`.
  if (!/^[\w-]+(?<!-events)$/.test(name)) {
    throw new ListenError(
      'invalid-options',
      'the name of a bus on NATS has letters, digits, - and _, and does not end with -events',
    );
  }
  const connections = new NatsConnectionManager(
    typeof server === 'string' ? { servers: server } : server,
    name,
  );
  return new BrokerBus(
    new NatsBroker(connections, name, { ...retentionOf(options), events: events?.kept, jetStream }),
    options,
  );
}
