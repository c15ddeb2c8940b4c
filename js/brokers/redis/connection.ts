/** One connection to Redis. */
export interface RedisConnection {
  connect(): Promise<unknown>;
  /**
   * Sends a command, and returns the reply as Redis sends it. A command that has not been sent when
   * `timeout` aborts is not sent any more.
   */
  call(command: string[], timeout?: AbortSignal): Promise<unknown>;
  destroy(): void;
}

/** Opens connections with the settings of a client. */
export interface RedisConnections {
  /** Returns a connection that ends when it is lost, and is not connected yet. */
  reader(): RedisConnection;
  /** Returns a connection that reconnects by itself; commands wait for it until they time out. */
  writer(): RedisConnection;
}

/** The part of a client of the package `redis` that is used. */
export interface RedisClient {
  /** The settings of the client. */
  readonly options?: { socket?: object };
  /** Returns another client with the same settings, except for `overrides`. */
  duplicate(overrides?: object): unknown;
}

/** Opens connections of the package `redis`. */
export class NodeRedisConnections implements RedisConnections {
  readonly #client: RedisClient;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  reader(): RedisConnection {
    return this.#open({ socket: this.#socket(false) });
  }

  writer(): RedisConnection {
    const socket = this.#socket((retries: number) => Math.min(50 * 2 ** retries, 1_000));
    const writer = this.#open({ socket, pingInterval: BLOCK_MS });
    // Retries until `destroy`, after which the promise has no reader.
    writer.connect().catch(ignored);
    return writer;
  }

  #open(overrides: object): RedisConnection {
    const client = this.#client.duplicate({ ...PLAIN, ...overrides }) as NodeRedis;
    // Commands that wait for the connection fail with its error and report it.
    client.on('error', ignored);
    return {
      connect: () => client.connect(),
      call: (command, abortSignal) => client.sendCommand(command, abortSignal && { abortSignal }),
      destroy: () => client.destroy(),
    };
  }

  #socket(reconnectStrategy: unknown): object {
    return { ...this.#client.options?.socket, reconnectStrategy, socketTimeout: SILENCE_MS };
  }
}

/** What a client of the package `redis` does. */
interface NodeRedis {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(command: string[], options?: { abortSignal: AbortSignal }): Promise<unknown>;
  destroy(): void;
}

function ignored(): void {}

/** Settings that fix the format of replies, whatever the caller's client has set. */
const PLAIN = { commandOptions: {}, disableOfflineQueue: false };
/**
 * Milliseconds that a read waits for the next entry. A connection that is silent for `SILENCE_MS`
 * is dead.
 */
export const BLOCK_MS = 5_000;
const SILENCE_MS = 15_000;
