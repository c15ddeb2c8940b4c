import {
  type ConnectionOptions,
  connect,
  type NatsConnection,
  type PermissionViolationError,
} from '@nats-io/transport-node';
import { unlessAborted } from '../../timing/aborted.js';
import { type Deferred, deferred } from '../../timing/deferred.js';

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
  #connection: NatsConnection | undefined;
  #isOpening = false;
  /** Whether this manager was closed, or the connection that it was given. */
  #isClosed = false;
  /** Aborts when the connection is lost; undefined while it is down. */
  #lost: AbortController | undefined;
  /** The subjects of the bus, and how the server has last refused a message to each. */
  readonly #subjects: readonly string[];
  readonly #refusals = new Map<string, Error>();
  /** Callers that wait for the connection. */
  readonly #waiting = new Set<Deferred<ConnectionLease>>();

  /** @param name - the name of the bus. */
  constructor(server: ConnectionOptions | NatsConnection, name: string) {
    this.#subjects = [name, signalsOf(name)];
    if ('publish' in server) this.#hold(server);
    else this.#options = server;
  }

  /** Returns the last refusal of a message to a subject of the bus: another object for each. */
  refusalOf(subject: string): Error | undefined {
    return this.#refusals.get(subject);
  }

  /** Returns the connection once it is up, unless `timeout` aborts before. */
  async lease(timeout?: AbortSignal): Promise<ConnectionLease> {
    const connection = this.#connection;
    if (this.#isClosed || connection?.isClosed() === true) throw closed();
    if (connection !== undefined && this.#lost !== undefined)
      return { connection, lost: this.#lost.signal };
    if (connection === undefined) void this.#open();
    return unlessAborted(timeout === undefined ? [] : [timeout], (stopped) => this.#next(stopped));
  }

  /**
   * Closes the connection, unless it was given. One that is being opened is closed once it is
   * there: its client cannot be stopped before.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#settle((lease) => lease.reject(closed()));
    if (this.#options !== undefined) await this.#connection?.close();
  }

  /** Returns the connection when it comes up, unless `stopped` aborts before. */
  #next(stopped: AbortSignal): Promise<ConnectionLease> {
    const lease = deferred<ConnectionLease>();
    this.#waiting.add(lease);
    stopped.addEventListener('abort', () => this.#waiting.delete(lease));
    return lease.promise;
  }

  async #open(): Promise<void> {
    if (this.#isOpening) return;
    this.#isOpening = true;
    try {
      const connection = await connect({ ...DEFAULTS, ...this.#options });
      if (this.#isClosed) await connection.close();
      else this.#hold(connection);
    } catch (error) {
      this.#settle((lease) => lease.reject(error as Error));
    } finally {
      this.#isOpening = false;
    }
  }

  #hold(connection: NatsConnection): void {
    this.#connection = connection;
    this.#begin(connection);
    void this.#watch(connection);
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') this.#lose();
      if (status.type === 'reconnect') this.#begin(connection);
      if (status.type === 'error') this.#note(status.error);
    }
    this.#lose();
    if (this.#options === undefined) this.#isClosed = true;
    else this.#connection = undefined;
    this.#settle((lease) => lease.reject(closed()));
  }

  /** Notes an error if it says that the server refuses messages to a subject of the bus. */
  #note(error: Error): void {
    // The connection may be of another copy of the client, with another class.
    const { operation, subject = '' } = error as Partial<PermissionViolationError>;
    if (operation === 'publish' && this.#subjects.includes(subject))
      this.#refusals.set(subject, error);
  }

  #begin(connection: NatsConnection): void {
    this.#lost ??= new AbortController();
    const { signal: lost } = this.#lost;
    this.#settle((lease) => lease.resolve({ connection, lost }));
  }

  #lose(): void {
    const former = this.#lost;
    this.#lost = undefined;
    former?.abort(new Error('the connection was lost'));
  }

  #settle(how: (lease: Deferred<ConnectionLease>) => void): void {
    for (const lease of this.#waiting) how(lease);
    this.#waiting.clear();
  }
}

/** Returns the subject of the signals of a bus. */
export function signalsOf(name: string): string {
  return `${name}.wanted`;
}

function closed(): Error {
  return new Error('the connection is closed');
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
