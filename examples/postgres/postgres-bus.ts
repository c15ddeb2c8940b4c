import {
  type Broker,
  type BrokerBusOptions,
  type BrokerListener,
  brokerBus,
  type ProcessBus,
} from 'mcp-listen';
import pg from 'pg';

/** A bus over LISTEN and NOTIFY of the Postgres at `url`, for all processes on one channel. */
export function postgresBus(
  url: string,
  channel = 'mcp-listen',
  options: BrokerBusOptions = {},
): ProcessBus {
  return brokerBus(new PostgresBroker(url, channel), options);
}

/**
 * Postgres does not store notifications for a lost connection, so each reconnection is a gap:
 * streams receive one notification for everything that they subscribe to. A publish of more than
 * 7,999 bytes of JSON fails: publish fewer events at once.
 */
class PostgresBroker implements Broker {
  readonly #settings: pg.ClientConfig;
  readonly #channel: string;
  readonly #signals: string;
  /** One connection, so that publishes keep their order. The pool reopens it after a loss. */
  readonly #pool: pg.Pool;
  #receivedAll = async (): Promise<void> => {};

  constructor(connectionString: string, channel: string) {
    const alive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
    this.#settings = {
      connectionString,
      ...alive,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
    };
    this.#channel = pg.escapeIdentifier(channel);
    this.#signals = pg.escapeIdentifier(`${channel}:wanted`);
    this.#pool = new pg.Pool({ ...this.#settings, max: 1 });
    // Ignores the loss of an idle connection: the next publish opens another one.
    this.#pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
  }

  async publish(events: string, timeout: AbortSignal): Promise<void> {
    if (Buffer.byteLength(events) > MAX_BYTES)
      throw new Error(`more than ${MAX_BYTES} bytes of events`);
    await this.#notify(this.#channel, events, timeout);
  }

  async signal(text: string): Promise<void> {
    await this.#notify(this.#signals, text, AbortSignal.timeout(5_000));
  }

  async #notify(channel: string, text: string, timeout: AbortSignal): Promise<void> {
    const client = await this.#pool.connect();
    try {
      timeout.throwIfAborted();
      await client.query(`NOTIFY ${channel}, ${pg.escapeLiteral(text)}`);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    // Postgres delivers everything published before a query before the answer to it.
    await this.#listen(this.#channel, listener.onEvents.bind(listener), signal, (receivedAll) => {
      listener.onReady(false);
      this.#receivedAll = receivedAll;
    });
  }

  followSignals(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#listen(this.#signals, onSignal, signal, onReady);
  }

  async #listen(
    channel: string,
    onText: (text: string) => void,
    signal: AbortSignal,
    onReady: (receivedAll: () => Promise<void>) => void,
  ): Promise<void> {
    const client = new pg.Client(this.#settings);
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    client.on('error', lose).on('end', () => lose(new Error('the connection has ended')));
    client.on('notification', ({ payload = '' }) => onText(payload));
    signal.addEventListener('abort', () => lose(signal.reason));
    const listening = client.connect().then(() => client.query(`LISTEN ${channel}`));
    try {
      await Promise.race([listening, lost]);
      onReady(async () => void (await Promise.race([client.query('SELECT 1'), lost])));
      await lost;
    } finally {
      void Promise.allSettled([listening, client.end()]);
    }
  }

  settle(): Promise<void> {
    return this.#receivedAll();
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** Maximum bytes of the payload of NOTIFY. */
const MAX_BYTES = 7_999;
