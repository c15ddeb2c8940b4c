import type { createClient } from 'redis';
import type { Broker, BrokerListener } from '../../bus/broker.js';
import { type Deferred, deferred } from '../../timing/deferred.js';

/** What of a client of the package `redis` is used. */
export interface RedisClient {
  /** Its settings. */
  readonly options?: { socket?: object };
  /** Another client with the same settings, but for these. */
  duplicate(overrides?: object): unknown;
}

/**
 * Events in a stream of Redis. Each entry carries the number that follows its predecessor's, so whoever reads knows when one is
 * missing; the stream is all there is to hear, so nothing overtakes.
 */
export class RedisBroker implements Broker {
  readonly #client: RedisClient;
  readonly #stream: string;
  readonly #counter: string;
  readonly #window: string;
  #writer: Connection | undefined;
  #place: Place | undefined;
  /** Those who wait until the entry with a number was read. */
  readonly #awaited = new Map<Deferred<void>, number>();

  /** @param window - how many entries the stream keeps, at least. */
  constructor(client: RedisClient, name: string, window: number) {
    this.#client = client;
    this.#stream = name;
    // In a cluster both have to be in the same place.
    this.#counter = `{${name}}:number`;
    this.#window = String(window);
  }

  async publish(events: string, late: AbortSignal): Promise<void> {
    this.#writer ??= this.#openWriter();
    const append = { keys: [this.#stream, this.#counter], arguments: [events, this.#window] };
    await this.#writer.withAbortSignal(late).eval(APPEND, append);
  }

  async follow(ear: BrokerListener, signal: AbortSignal): Promise<void> {
    const reader = this.#open({ socket: this.#socket(false) });
    const leave = (): void => reader.destroy();
    signal.addEventListener('abort', leave);
    try {
      await reader.connect();
      ear.onReady(await this.#resume(reader));
      while (!signal.aborted) await this.#read(reader, ear);
    } finally {
      signal.removeEventListener('abort', leave);
      reader.destroy();
    }
  }

  async settle(): Promise<void> {
    this.#writer ??= this.#openWriter();
    const heard = deferred();
    this.#awaited.set(heard, Number((await this.#writer.get(this.#counter)) ?? 0));
    this.#tellAwaited();
    await heard.promise;
  }

  #tellAwaited(): void {
    for (const [heard, number] of this.#awaited) {
      if (number > (this.#place?.number ?? 0)) continue;
      this.#awaited.delete(heard);
      heard.resolve();
    }
  }

  async close(): Promise<void> {
    this.#writer?.destroy();
  }

  /** Goes on from the last entry where the stream still has it; the answer is whether nothing can have been lost. */
  async #resume(reader: Connection): Promise<boolean> {
    const server = await serverOf(reader);
    const former = this.#place;
    if (former === undefined || !(await this.#holds(reader, former))) {
      this.#place = await this.#end(reader, server);
      return false;
    }
    const isSame = server !== undefined && server === former.server;
    former.server = server;
    // A server that was started anew, or another one, may have lost what it had confirmed.
    return isSame;
  }

  /** Whether what follows a place can be read from there. */
  async #holds(reader: Connection, { id, number }: Place): Promise<boolean> {
    if (Number(await reader.get(this.#counter)) === number) return true;
    return (await reader.xRange(this.#stream, id, id))?.length === 1;
  }

  async #end(reader: Connection, server: string | undefined): Promise<Place> {
    const [entries, number] = await reader
      .multi()
      .xRevRange(this.#stream, '+', '-', { COUNT: 1 })
      .get(this.#counter)
      .execTyped();
    return { id: entries?.[0]?.id ?? '0-0', number: Number(number ?? 0), server };
  }

  async #read(reader: Connection, ear: BrokerListener): Promise<void> {
    const place = this.#place as Place;
    const streams = await reader.xRead(
      { key: this.#stream, id: place.id },
      { COUNT: BATCH, BLOCK: BLOCK_MS },
    );
    for (const { id, message } of streams?.[0]?.messages ?? []) {
      place.id = id;
      this.#take(place, message, ear);
    }
    this.#tellAwaited();
  }

  /** What others write into the stream has no number, and counts for nothing. */
  #take(place: Place, { events = '', number }: Record<string, string>, ear: BrokerListener): void {
    if (number !== undefined) {
      if (Number(number) !== place.number + 1) ear.onGap();
      place.number = Number(number);
    }
    ear.onEvents(events);
  }

  /** It connects again by itself; what is published meanwhile waits, for as long as a publish may. */
  #openWriter(): Connection {
    const socket = this.#socket((retries: number) => Math.min(50 * 2 ** retries, 1_000));
    const writer = this.#open({ socket, pingInterval: BLOCK_MS });
    // It goes on trying until it is destroyed, and then nobody waits for it.
    writer.connect().catch(ignored);
    return writer;
  }

  #open(overrides: object): Connection {
    const client = this.#client.duplicate({ ...PLAIN, ...overrides }) as Connection;
    // Whatever waits for the connection fails with it, and tells.
    return client.on('error', ignored);
  }

  #socket(reconnectStrategy: unknown): object {
    return { ...this.#client.options?.socket, reconnectStrategy, socketTimeout: SILENCE_MS };
  }
}

type Connection = ReturnType<typeof createClient>;

/** Up to where the stream was read. */
interface Place {
  /** Of the last entry. */
  id: string;
  /** That the last entry has. */
  number: number;
  /** The run of the server; undefined where it does not tell. */
  server: string | undefined;
}

/** A server that may not be asked fails the next command if it is gone. */
async function serverOf(reader: Connection): Promise<string | undefined> {
  const info = await reader.info('server').catch(() => '');
  return /^run_id:(\w+)/m.exec(info)?.[1];
}

function ignored(): void {}

/** Replies as they are, whatever the settings of the user's own commands. */
const PLAIN = { commandOptions: {}, disableOfflineQueue: false };
/** Numbers an entry and appends it, in one step. */
const APPEND = `local number = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'number', number, 'events', ARGV[1])
return number`;
/** Entries read at once. */
const BATCH = 256;
/** How long a read waits for the next entry, in milliseconds: a connection that is silent for longer than this is dead. */
const BLOCK_MS = 5_000;
const SILENCE_MS = 15_000;
