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

/** Returns the milliseconds after which a writer reconnects for the nth time. */
export function reconnectMs(attempts: number): number {
  return Math.min(50 * 2 ** attempts, 1_000);
}

export function ignored(): void {}

/**
 * Milliseconds that a read waits for the next entry. A connection that is silent for `SILENCE_MS`
 * is dead.
 */
export const BLOCK_MS = 5_000;
export const SILENCE_MS = 15_000;
