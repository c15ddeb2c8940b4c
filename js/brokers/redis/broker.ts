import type { Broker, BrokerListener } from '../../bus/broker/broker.js';
import type { BrokerLog } from '../../bus/broker/log.js';
import { Thresholds } from '../../timing/thresholds.js';
import type { RedisConnection, RedisConnections } from './connection.js';
import { entriesOf, readAfter, type StreamEntry } from './stream.js';
import { type RedisWriter, run, withReader } from './writer.js';

/**
 * A broker on a Redis stream. Entries are numbered consecutively, so that a reader detects missing
 * ones. The stream is the only channel, so events cannot overtake each other.
 */
export class RedisBroker implements Broker {
  readonly log: BrokerLog | undefined;
  readonly #connections: RedisConnections;
  readonly #writer: RedisWriter;
  readonly #stream: string;
  readonly #counter: string;
  /** The stream of signals. */
  readonly #signals: string;
  readonly #window: string;
  #cursor: Cursor | undefined;
  readonly #numbers = new Thresholds(() => this.#cursor?.number ?? 0);

  /** @param window - the least number of entries that the stream keeps. */
  constructor(connections: RedisConnections, { log, name, window, writer }: RedisBrokerOptions) {
    this.log = log;
    this.#connections = connections;
    this.#writer = writer;
    this.#stream = name;
    // The braces place both keys in the same slot of a cluster.
    this.#counter = `{${name}}:number`;
    this.#signals = `{${name}}:wanted`;
    this.#window = String(window);
  }

  async publish(events: string, timeout: AbortSignal): Promise<void> {
    const keys = [this.#stream, this.#counter];
    await this.#writer.run(APPEND, keys, [events, this.#window], timeout);
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    await withReader(this.#connections, signal, async (reader) => {
      listener.onReady({ isContiguous: await this.#resume(reader) });
      while (!signal.aborted) await this.#read(reader, listener);
    });
  }

  async settle(): Promise<void> {
    await this.#numbers.reached(Number((await this.#writer.call(['GET', this.#counter])) ?? 0));
  }

  async signal(text: string): Promise<void> {
    await this.#writer.run(SIGNAL, [this.#signals], [text], AbortSignal.timeout(SIGNAL_MS));
  }

  async followSignals(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    await withReader(this.#connections, signal, async (reader) => {
      const last = await reader.call(['XREVRANGE', this.#signals, '+', '-', 'COUNT', '1']);
      let id = entriesOf(last)[0]?.id ?? '0-0';
      onReady();
      while (!signal.aborted) {
        for (const entry of await readAfter(reader, this.#signals, id)) {
          id = entry.id;
          onSignal(entry.fields['text'] ?? '');
        }
      }
    });
  }

  async close(): Promise<void> {
    this.#writer.destroy();
  }

  /**
   * Resumes after the last entry, if the stream still has it. Returns whether no event can have
   * been lost.
   */
  async #resume(reader: RedisConnection): Promise<boolean> {
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
  async #hasEntriesAfter(reader: RedisConnection, { id, number }: Cursor): Promise<boolean> {
    if (Number(await reader.call(['GET', this.#counter])) === number) return true;
    return entriesOf(await reader.call(['XRANGE', this.#stream, id, id])).length === 1;
  }

  async #lastEntry(reader: RedisConnection, server: string | undefined): Promise<Cursor> {
    const keys = [this.#stream, this.#counter];
    const [entries, number] = (await run(reader, LAST, keys, [])) as [unknown, string | null];
    return { id: entriesOf(entries)[0]?.id ?? '0-0', number: Number(number ?? 0), server };
  }

  async #read(reader: RedisConnection, listener: BrokerListener): Promise<void> {
    const cursor = this.#cursor as Cursor;
    for (const entry of await readAfter(reader, this.#stream, cursor.id)) {
      cursor.id = entry.id;
      this.#handleEntry(cursor, entry, listener);
    }
    this.#numbers.check();
  }

  /** Handles an entry. Entries of other writers have no number and are not counted. */
  #handleEntry(cursor: Cursor, { fields }: StreamEntry, listener: BrokerListener): void {
    const { events = '', number } = fields;
    if (number !== undefined) {
      if (Number(number) !== cursor.number + 1) listener.onGap();
      cursor.number = Number(number);
    }
    listener.onEvents(events);
  }
}

/** Options of a {@link RedisBroker}. */
export interface RedisBrokerOptions {
  /** The log of occurrences; undefined: there is none. */
  log: BrokerLog | undefined;
  /** The name of the bus. */
  name: string;
  /** The least number of entries that the stream keeps. */
  window: number;
  writer: RedisWriter;
}

/** The position in the stream. */
interface Cursor {
  /** The id of the last entry. */
  id: string;
  /** The number of the last entry. */
  number: number;
  /** The run id of the server; undefined if the server does not provide it. */
  server: string | undefined;
}

/** Returns the run id; undefined if the server does not provide it or refuses the command. */
async function serverOf(reader: RedisConnection): Promise<string | undefined> {
  try {
    return /^run_id:(\w+)/m.exec(String(await reader.call(['INFO', 'server'])))?.[1];
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/**
 * Returns whether an error is a reply of the server. The clients have no class in common for these,
 * but each begins with its kind in upper case, such as `NOPERM`.
 */
function isRefusal(error: unknown): boolean {
  return /^[A-Z]+ /.test((error as Error).message);
}

/** Numbers an entry and appends it, atomically. */
const APPEND = `local number = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'number', number, 'events', ARGV[1])
return number`;
/** Returns the last entry and the last number, which belong together. */
const LAST = `return {redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1),
  redis.call('GET', KEYS[2])}`;
/** Appends a signal to a short stream, which only processes that are connected read. */
const SIGNAL = `return redis.call('XADD', KEYS[1], 'MAXLEN', '~', 256, '*', 'text', ARGV[1])`;
/** Milliseconds after which a signal is not sent any more. */
const SIGNAL_MS = 2_000;
