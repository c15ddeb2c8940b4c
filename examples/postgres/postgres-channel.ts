import pg from 'pg';

/** One channel of LISTEN and NOTIFY. */
export class PostgresChannel {
  readonly #settings: pg.ClientConfig;
  readonly #name: string;
  /** One connection, so that texts keep their order. The pool reopens it after a loss. */
  readonly #pool: pg.Pool;

  constructor(connectionString: string, name: string) {
    const alive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
    const timeouts = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };
    this.#settings = { connectionString, ...alive, ...timeouts };
    this.#name = pg.escapeIdentifier(name);
    this.#pool = new pg.Pool({ ...this.#settings, max: 1 });
    // Ignores the loss of an idle connection: the next text opens another one.
    this.#pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
  }

  /** Sends a text unless `timeout` aborts first. Rejects if Postgres may not have it. */
  async notify(text: string, timeout: AbortSignal): Promise<void> {
    if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    const client = await this.#pool.connect();
    try {
      timeout.throwIfAborted();
      await client.query(`NOTIFY ${this.#name}, ${pg.escapeLiteral(text)}`);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /**
   * Passes on every text from the call of `onReady` until the connection is lost or `signal`
   * aborts. `receivedAll` resolves once everything that was sent before its call was passed on.
   */
  async listen(
    onText: (text: string) => void,
    onReady: (receivedAll: () => Promise<void>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const client = new pg.Client(this.#settings);
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    client.on('error', lose).on('end', () => lose(new Error('the connection has ended')));
    client.on('notification', ({ payload = '' }) => onText(payload));
    signal.addEventListener('abort', () => lose(signal.reason));
    const listening = client.connect().then(() => client.query(`LISTEN ${this.#name}`));
    try {
      await Promise.race([listening, lost]);
      // Postgres delivers everything published before a query before the answer to it.
      onReady(async () => void (await Promise.race([client.query('SELECT 1'), lost])));
      await lost;
    } finally {
      void Promise.allSettled([listening, client.end()]);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** Maximum bytes of the payload of NOTIFY. */
const MAX_BYTES = 7_999;
