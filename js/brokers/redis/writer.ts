import type { RedisConnection, RedisConnections } from './connection.js';

/** The connection that publishes, which opens at the first command. */
export class RedisWriter {
  readonly #connections: RedisConnections;
  #connection: RedisConnection | undefined;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  /** Sends a command, as `RedisConnection.call` does. */
  call(command: string[], timeout?: AbortSignal): Promise<unknown> {
    this.#connection ??= this.#connections.writer();
    return this.#connection.call(command, timeout);
  }

  /** Runs a script. */
  run(script: string, keys: string[], values: string[], timeout: AbortSignal): Promise<unknown> {
    return this.call(evalOf(script, keys, values), timeout);
  }

  destroy(): void {
    this.#connection?.destroy();
  }
}

/** Runs a script on a connection. */
export function run(
  connection: RedisConnection,
  script: string,
  keys: string[],
  values: string[],
): Promise<unknown> {
  return connection.call(evalOf(script, keys, values));
}

/** Connects a reader for `work`, and ends it afterwards or when `signal` aborts. */
export async function withReader(
  connections: RedisConnections,
  signal: AbortSignal,
  work: (reader: RedisConnection) => Promise<void>,
): Promise<void> {
  const reader = connections.reader();
  const stop = (): void => reader.destroy();
  signal.addEventListener('abort', stop);
  try {
    await reader.connect();
    await work(reader);
  } finally {
    signal.removeEventListener('abort', stop);
    reader.destroy();
  }
}

function evalOf(script: string, keys: string[], values: string[]): string[] {
  return ['EVAL', script, String(keys.length), ...keys, ...values];
}
