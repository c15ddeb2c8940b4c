import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { type Deferred, deferred } from '../../timing/deferred.js';

/** A connection for as long as it holds. */
export interface ConnectionLease {
  readonly connection: NatsConnection;
  /** Resolves when it is lost. */
  readonly lost: Promise<Error>;
}

/** A connection that was given, or one of our own that is made anew where its client gave it up. */
export class NatsConnectionManager {
  readonly #options: ConnectionOptions | undefined;
  #making: Promise<NatsConnection> | undefined;
  /** Settled once the connection is up; another one for each time that it was lost. */
  #up = deferred();
  #lost: Deferred<Error> = deferred();

  constructor(server: ConnectionOptions | NatsConnection) {
    if ('publish' in server) this.#making = this.#watched(server);
    else this.#options = server;
  }

  /** The connection, once it is up. */
  async hold(): Promise<ConnectionLease> {
    this.#making ??= this.#make();
    const connection = await this.#making;
    if (connection.isClosed()) throw new Error('the connection is closed');
    await this.#up.promise;
    return { connection, lost: this.#lost.promise };
  }

  /** Closes the connection, unless it was given. */
  async close(): Promise<void> {
    if (this.#options !== undefined) await (await this.#making)?.close();
  }

  async #make(): Promise<NatsConnection> {
    try {
      return await this.#watched(await connect({ ...OURS, ...this.#options }));
    } catch (error) {
      this.#making = undefined;
      throw error;
    }
  }

  async #watched(connection: NatsConnection): Promise<NatsConnection> {
    this.#up.resolve();
    void this.#watch(connection);
    return connection;
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') this.#lose();
      if (type === 'reconnect') this.#up.resolve();
    }
    this.#lose();
    if (this.#options !== undefined) this.#making = undefined;
    // Whoever waits for it finds it closed.
    this.#up.resolve();
  }

  #lose(): void {
    const former = this.#lost;
    this.#up = deferred();
    this.#lost = deferred();
    former.resolve(new Error('the connection was lost'));
  }
}

/** A connection of our own comes back for ever, soon, and notices within half a minute that the other end is dead. */
const OURS: ConnectionOptions = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 250,
  pingInterval: 10_000,
};
