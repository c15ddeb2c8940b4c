import type { createClient } from 'redis';
import type { Broker, BrokerListener } from '../../bus/broker.js';
import { untilAborted } from '../../timing/aborted.js';
import { Thresholds } from '../../timing/thresholds.js';

/** The part of a client of the package `redis` that is used. */
export interface RedisClient {
  /** The settings of the client. */
  readonly options?: { socket?: object };
  /** Returns another client with the same settings, except for `overrides`. */
  duplicate(overrides?: object): unknown;
}

/**
 * A broker on a Redis stream. Entries are numbered consecutively, so that a reader detects missing
 * ones. The stream is the only channel, so events cannot overtake each other.
 */
export class RedisBroker implements Broker {
  readonly #client: RedisClient;
  readonly #stream: string;
  readonly #counter: string;
  /** The channel of signals. */
  readonly #signals: string;
  readonly #window: string;
  #writer: Connection | undefined;
  #cursor: Cursor | undefined;
  readonly #numbers = new Thresholds(() => this.#cursor?.number ?? 0);

  /** @param window - the least number of entries that the stream keeps. */
  constructor(client: RedisClient, name: string, window: number) {
    this.#client = client;
    this.#stream = name;
    // The braces place both keys in the same slot of a cluster.
    this.#counter = `{${name}}:number`;
    this.#signals = `{${name}}:wanted`;
    this.#window = String(window);
  }

  async publish(events: string, timeout: AbortSignal): Promise<void> {
    this.#writer ??= this.#openWriter();
    const append = { keys: [this.#stream, this.#counter], arguments: [events, this.#window] };
    await this.#writer.withAbortSignal(timeout).eval(APPEND, append);
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    const reader = this.#open({ socket: this.#socket(false) });
    const stop = (): void => reader.destroy();
    signal.addEventListener('abort', stop);
    try {
      await reader.connect();
      listener.onReady(await this.#resume(reader));
      while (!signal.aborted) await this.#read(reader, listener);
    } finally {
      signal.removeEventListener('abort', stop);
      reader.destroy();
    }
  }

  async settle(): Promise<void> {
    this.#writer ??= this.#openWriter();
    await this.#numbers.reached(Number((await this.#writer.get(this.#counter)) ?? 0));
  }

  async signal(text: string): Promise<void> {
    this.#writer ??= this.#openWriter();
    // While the connection is away there is no one to send it to.
    if (this.#writer.isReady) await this.#writer.publish(this.#signals, text);
  }

  async followSignals(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const reader = this.#open({ socket: this.#socket(false), pingInterval: BLOCK_MS });
    const lost = new Promise<void>((resolve) => reader.on('end', resolve).on('error', resolve));
    try {
      await reader.connect();
      await reader.subscribe(this.#signals, onSignal);
      onReady();
      await Promise.race([lost, untilAborted(signal)]);
    } finally {
      reader.destroy();
    }
  }

  async close(): Promise<void> {
    this.#writer?.destroy();
  }

  /**
   * Resumes after the last entry, if the stream still has it. Returns whether no event can have
   * been lost.
   */
  async #resume(reader: Connection): Promise<boolean> {
    const server = await serverOf(reader);
    const former = this.#cursor;
    if (former === undefined || !(await this.#hasEntriesAfter(reader, former))) {
      this.#cursor = await this.#lastEntry(reader, server);
      return false;
    }
    const isSame = server !== undefined && server === former.server;
    former.server = server;
    // A server that was restarted or replaced may have lost entries that it had confirmed.
    return isSame;
  }

  /** Returns whether the entries after a position can be read. */
  async #hasEntriesAfter(reader: Connection, { id, number }: Cursor): Promise<boolean> {
    if (Number(await reader.get(this.#counter)) === number) return true;
    return (await reader.xRange(this.#stream, id, id))?.length === 1;
  }

  async #lastEntry(reader: Connection, server: string | undefined): Promise<Cursor> {
    const [entries, number] = await reader
      .multi()
      .xRevRange(this.#stream, '+', '-', { COUNT: 1 })
      .get(this.#counter)
      .execTyped();
    return { id: entries?.[0]?.id ?? '0-0', number: Number(number ?? 0), server };
  }

  async #read(reader: Connection, listener: BrokerListener): Promise<void> {
    const cursor = this.#cursor as Cursor;
    const streams = await reader.xRead(
      { key: this.#stream, id: cursor.id },
      { COUNT: BATCH, BLOCK: BLOCK_MS },
    );
    for (const { id, message } of streams?.[0]?.messages ?? []) {
      cursor.id = id;
      this.#handleEntry(cursor, message, listener);
    }
    this.#numbers.check();
  }

  /** Handles an entry. Entries of other writers have no number and are not counted. */
  #handleEntry(
    cursor: Cursor,
    { events = '', number }: Record<string, string>,
    listener: BrokerListener,
  ): void {
    if (number !== undefined) {
      if (Number(number) !== cursor.number + 1) listener.onGap();
      cursor.number = Number(number);
    }
    listener.onEvents(events);
  }

  /**
   * Opens the connection that publishes. It reconnects by itself; publishes wait for it until they
   * time out.
   */
  #openWriter(): Connection {
    const socket = this.#socket((retries: number) => Math.min(50 * 2 ** retries, 1_000));
    const writer = this.#open({ socket, pingInterval: BLOCK_MS });
    // Retries until `destroy`, after which the promise has no reader.
    writer.connect().catch(ignored);
    return writer;
  }

  #open(overrides: object): Connection {
    const client = this.#client.duplicate({ ...PLAIN, ...overrides }) as Connection;
    // Commands that wait for the connection fail with its error and report it.
    return client.on('error', ignored);
  }

  #socket(reconnectStrategy: unknown): object {
    return { ...this.#client.options?.socket, reconnectStrategy, socketTimeout: SILENCE_MS };
  }
}

type Connection = ReturnType<typeof createClient>;

/** The position in the stream. */
interface Cursor {
  /** The id of the last entry. */
  id: string;
  /** The number of the last entry. */
  number: number;
  /** The run id of the server; undefined if the server does not provide it. */
  server: string | undefined;
}

/** Returns the run id. An error here is ignored: if the server is gone, the next command fails. */
async function serverOf(reader: Connection): Promise<string | undefined> {
  const info = await reader.info('server').catch(() => '');
  return /^run_id:(\w+)/m.exec(info)?.[1];
}

function ignored(): void {}

/** Settings that fix the format of replies, whatever the caller's client has set. */
const PLAIN = { commandOptions: {}, disableOfflineQueue: false };
/** Numbers an entry and appends it, atomically. */
const APPEND = `local number = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'number', number, 'events', ARGV[1])
return number`;
/** The number of entries read at once. */
const BATCH = 256;
/**
 * Milliseconds that a read waits for the next entry. A connection that is silent for `SILENCE_MS`
 * is dead.
 */
const BLOCK_MS = 5_000;
const SILENCE_MS = 15_000;
