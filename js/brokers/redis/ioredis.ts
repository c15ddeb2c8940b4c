import { deferred } from '../../timing/deferred.js';
import {
  ignored,
  type RedisConnection,
  type RedisConnections,
  reconnectMs,
  SILENCE_MS,
} from './connection.js';

/** The part of a client of the package `ioredis` that is used. */
export interface IoRedisClient {
  /** Returns another client with the same settings, except for `override`. */
  duplicate(override?: object): unknown;
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** Opens connections of the package `ioredis`. */
export class IoRedisConnections implements RedisConnections {
  readonly #client: IoRedisClient;

  constructor(client: IoRedisClient) {
    this.#client = client;
  }

  reader(): RedisConnection {
    return this.#open(() => null);
  }

  writer(): RedisConnection {
    const writer = this.#open((attempts) => reconnectMs(attempts));
    // Retries until `destroy`, after which the promise has no reader.
    writer.connect().catch(ignored);
    return writer;
  }

  #open(retryStrategy: (attempts: number) => number | null): RedisConnection {
    const client = this.#client.duplicate({ ...PLAIN, retryStrategy }) as IoRedis;
    // Commands fail with the error of the connection and report it.
    client.on('error', ignored);
    return {
      connect: () => client.connect(),
      async call([name = '', ...args], signal) {
        // A queue of commands would still send those whose caller has given up.
        if (client.status !== 'ready') await untilReady(client, signal);
        return client.call(name, ...args);
      },
      destroy: () => client.disconnect(),
    };
  }
}

/** What a client of the package `ioredis` does. */
interface IoRedis {
  readonly status: string;
  connect(): Promise<unknown>;
  call(command: string, ...args: string[]): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Waits until the connection is up; rejects when it is closed permanently or `signal` aborts. */
async function untilReady(client: IoRedis, signal: AbortSignal | undefined): Promise<void> {
  // After its end no event follows that would resolve the wait.
  if (client.status === 'end') throw new Error(DOWN);
  const { promise, reject, resolve } = deferred();
  const up = (): void => resolve();
  const fail = (): void => reject(new Error(DOWN));
  client.on('ready', up);
  client.on('end', fail);
  signal?.addEventListener('abort', fail);
  try {
    await promise;
  } finally {
    client.off('ready', up);
    client.off('end', fail);
    signal?.removeEventListener('abort', fail);
  }
}

const DOWN = 'the connection is down';
/** Settings that a bus needs, whatever the caller's client has set. */
const PLAIN = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Commands that are under way when the connection is lost fail at once.
  maxRetriesPerRequest: 0,
  commandTimeout: undefined,
  socketTimeout: SILENCE_MS,
  // The name of the bus says where its keys are, for every client.
  keyPrefix: '',
};
