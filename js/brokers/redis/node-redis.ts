import {
  BLOCK_MS,
  ignored,
  type RedisConnection,
  type RedisConnections,
  reconnectMs,
  SILENCE_MS,
} from './connection.js';

/** The part of a client of the package `redis` that is used. */
export interface NodeRedisClient {
  /** The settings of the client. */
  readonly options?: {
    /** The settings of its connection. */
    socket?: object;
  };
  /** Returns another client with the same settings, except for `overrides`. */
  duplicate(overrides?: object): unknown;
}

/** Opens connections of the package `redis`. */
export class NodeRedisConnections implements RedisConnections {
  readonly #client: () => Promise<NodeRedisClient>;

  /** @param client - returns the client whose settings they have. */
  constructor(client: () => Promise<NodeRedisClient>) {
    this.#client = client;
  }

  reader(): RedisConnection {
    return this.#open(false, {});
  }

  writer(): RedisConnection {
    const writer = this.#open(reconnectMs, { pingInterval: BLOCK_MS });
    // Retries until `destroy`, after which the promise has no reader.
    writer.connect().catch(ignored);
    return writer;
  }

  #open(reconnectStrategy: unknown, overrides: object): RedisConnection {
    const opened = this.#opened(reconnectStrategy, overrides);
    opened.catch(ignored);
    let isDestroyed = false;
    return {
      async connect() {
        const client = await opened;
        if (isDestroyed) throw new Error('the connection was closed');
        return client.connect();
      },
      async call(command, abortSignal) {
        return (await opened).sendCommand(command, abortSignal && { abortSignal });
      },
      destroy() {
        isDestroyed = true;
        opened.then((client) => client.destroy(), ignored);
      },
    };
  }

  async #opened(reconnectStrategy: unknown, overrides: object): Promise<NodeRedis> {
    const former = await this.#client();
    const socket = { ...former.options?.socket, reconnectStrategy, socketTimeout: SILENCE_MS };
    const client = former.duplicate({ ...PLAIN, ...overrides, socket }) as NodeRedis;
    // Commands that wait for the connection fail with its error and report it.
    client.on('error', ignored);
    return client;
  }
}

/** What a client of the package `redis` does. */
interface NodeRedis {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(command: string[], options?: { abortSignal: AbortSignal }): Promise<unknown>;
  destroy(): void;
}

/** Settings that fix the format of replies, whatever the caller's client has set. */
const PLAIN = { commandOptions: {}, disableOfflineQueue: false };
