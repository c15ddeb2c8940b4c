import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { deferred } from '../../timing/deferred.js';

/** A connection, valid until it is lost. */
export interface ConnectionLease {
  readonly connection: NatsConnection;
  /** Aborts when the connection is lost. Each lease from before the same loss has the same one. */
  readonly lost: AbortSignal;
}

/**
 * Holds the connection that was given, or one that it opens itself and opens again once its
 * client has given up.
 */
export class NatsConnectionManager {
  readonly #options: ConnectionOptions | undefined;
  #opening: Promise<NatsConnection> | undefined;
  /** Resolves once the connection is up. Replaced each time the connection is lost. */
  #connected = deferred();
  #lost = new AbortController();

  constructor(server: ConnectionOptions | NatsConnection) {
    if ('publish' in server) this.#opening = this.#watched(server);
    else this.#options = server;
  }

  /** Returns the connection once it is up. */
  async lease(): Promise<ConnectionLease> {
    this.#opening ??= this.#open();
    const connection = await this.#opening;
    if (connection.isClosed()) throw new Error('the connection is closed');
    await this.#connected.promise;
    return { connection, lost: this.#lost.signal };
  }

  /** Closes the connection, unless it was given. */
  async close(): Promise<void> {
    if (this.#options !== undefined) await (await this.#opening)?.close();
  }

  async #open(): Promise<NatsConnection> {
    try {
      return await this.#watched(await connect({ ...DEFAULTS, ...this.#options }));
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #watched(connection: NatsConnection): Promise<NatsConnection> {
    this.#connected.resolve();
    void this.#watch(connection);
    return connection;
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') this.#lose();
      if (type === 'reconnect') this.#connected.resolve();
    }
    this.#lose();
    if (this.#options !== undefined) this.#opening = undefined;
    // Callers that wait in `lease` find the connection closed.
    this.#connected.resolve();
  }

  #lose(): void {
    const former = this.#lost;
    this.#connected = deferred();
    this.#lost = new AbortController();
    former.abort(new Error('the connection was lost'));
  }
}

/**
 * Options of a connection that we open: it reconnects forever with a short delay, and detects a
 * dead peer within 30 seconds.
 */
const DEFAULTS: ConnectionOptions = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 250,
  pingInterval: 10_000,
};
