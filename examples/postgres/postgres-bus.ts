import { once } from 'node:events';
import { type Broker, type BrokerBusOptions, brokerBus, type ProcessBus } from 'mcp-listen';
import pg from 'pg';

/** A bus over LISTEN and NOTIFY of the Postgres at `url`, for all processes on one channel. */
export function postgresBus(url: string, channel: string, options?: BrokerBusOptions): ProcessBus {
  return brokerBus(postgresBroker(url, channel), options);
}

function postgresBroker(connectionString: string, channel: string): Broker {
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
  const timeouts = { connectionTimeoutMillis: 4_000, query_timeout: 4_000 };
  const settings = { connectionString, ...alive, ...timeouts };
  // One connection, so that events keep their order. The pool opens another after a loss.
  const writer = new pg.Pool({ ...settings, max: 1 });
  writer.on('error', () => {}); // An idle connection was lost.
  let reader: pg.Client | undefined;
  return {
    // Waits for the connection for less than the five seconds of the bus, so nothing is sent later.
    // Postgres refuses payloads of 8,000 bytes: publish fewer events at once.
    async publish(events) {
      await writer.query('SELECT pg_notify($1, $2)', [channel, events]);
    },

    async follow(listener, signal) {
      const client = new pg.Client(settings);
      client.on('error', () => {}); // `once` below rejects with it.
      client.on('notification', ({ payload = '' }) => listener.onEvents(payload));
      try {
        await client.connect();
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
        reader = client;
        // Postgres keeps nothing for a lost connection, so each new one is a gap.
        listener.onReady({ isContiguous: false });
        await once(client, 'end', { signal });
      } finally {
        void client.end();
      }
    },

    // Everything published before a query is delivered before its result.
    async settle() {
      await reader?.query('SELECT 1');
    },

    close: () => writer.end(),
  };
}
