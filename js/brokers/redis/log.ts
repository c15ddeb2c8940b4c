import type { BrokerLog, LogCopy, LogEnd, LogEntry, LogState } from '../../bus/broker/log.js';
import type { RedisConnection, RedisConnections } from './connection.js';
import { readAfter, type StreamEntry } from './stream.js';
import { type RedisWriter, run, withReader } from './writer.js';

/** Options of a {@link RedisLog}. */
export interface RedisLogOptions {
  /** The name of the bus. */
  name: string;
  /** Milliseconds for which occurrences are kept. */
  ageMs: number;
  /** Maximum bytes of all occurrences. */
  bytes: number;
}

/**
 * A log of occurrences in a Redis stream. A script numbers each entry, and removes the oldest ones
 * while it notes the last number that was removed of each name.
 */
export class RedisLog implements BrokerLog {
  readonly #connections: RedisConnections;
  readonly #writer: RedisWriter;
  readonly #keys: string[];
  readonly #window: string[];
  /** The id of the last entry of the copy. */
  #id = '0-0';

  constructor(connections: RedisConnections, writer: RedisWriter, options: RedisLogOptions) {
    const { ageMs, bytes, name } = options;
    this.#connections = connections;
    this.#writer = writer;
    // The braces place all keys in the same slot of a cluster.
    this.#keys = [`{${name}}:events`, `{${name}}:events:state`, `{${name}}:events:trimmed`];
    this.#window = [String(ageMs), String(bytes)];
  }

  async append(occurrence: string, timeout: AbortSignal): Promise<number> {
    const { name } = JSON.parse(occurrence) as { name: string };
    const values = [newEpoch(), name, occurrence, ...this.#window];
    return Number(await this.#writer.run(APPEND, this.#keys, values, timeout));
  }

  async follow(copy: LogCopy, signal: AbortSignal): Promise<void> {
    await withReader(this.#connections, signal, async (reader) => {
      const [stream = ''] = this.#keys;
      const former = copy.end;
      const continued = copy.open(await this.#state(reader, former));
      if (continued !== former?.position) this.#id = '0-0';
      while (!signal.aborted) {
        const entries = await readAfter(reader, stream, this.#id);
        copy.append(entries.map(entryOf));
        this.#id = entries.at(-1)?.id ?? this.#id;
      }
    });
  }

  async #state(reader: RedisConnection, end: LogEnd | undefined): Promise<LogState> {
    const known = [newEpoch(), end?.epoch ?? '', String(end?.position ?? 0), this.#id];
    const reply = (await run(reader, STATE, this.#keys, known)) as [
      string,
      number,
      number,
      string[],
    ];
    const [epoch, first, last, list] = reply;
    const trimmed = new Map<string, number>();
    for (let index = 0; index + 1 < list.length; index += 2)
      trimmed.set(list[index] as string, Number(list[index + 1]));
    return { epoch, first, last, trimmed };
  }
}

function entryOf({ fields, id }: StreamEntry): LogEntry {
  const { event = '', number } = fields;
  return { position: Number(number), at: Number.parseInt(id, 10), text: event };
}

function newEpoch(): string {
  return crypto.randomUUID();
}

/**
 * Adds an entry, and removes others that are too old or too many, a thousand at a time. The values
 * are an epoch for a new log, the name, the occurrence, and the window. A log without its state is
 * no log any more.
 */
const APPEND = `if redis.call('HSETNX', KEYS[2], 'epoch', ARGV[1]) == 1 then
  redis.call('DEL', KEYS[1], KEYS[3])
end
local number = redis.call('HINCRBY', KEYS[2], 'number', 1)
local bytes = redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[3])
redis.call('XADD', KEYS[1], '*', 'number', number, 'name', ARGV[2], 'event', ARGV[3])
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[4]
for _ = 1, 1000 do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not first or tonumber(first[2][2]) == number then break end
  local isOld = tonumber(string.match(first[1], '%d+')) < oldest
  if not isOld and bytes <= tonumber(ARGV[5]) then break end
  redis.call('XDEL', KEYS[1], first[1])
  redis.call('HSET', KEYS[3], first[2][4], first[2][2])
  bytes = redis.call('HINCRBY', KEYS[2], 'bytes', -#first[2][6])
end
return number`;
/**
 * Returns what the log holds. The values are an epoch for a new log, and the end of the reader's
 * copy: its epoch, its position, and the id of the entry there. A log that ends before that, or has
 * another entry there, has lost entries, so its positions are given out again: it becomes another
 * log.
 */
const STATE = `local epoch = redis.call('HGET', KEYS[2], 'epoch')
local number = tonumber(redis.call('HGET', KEYS[2], 'number') or 0)
if not epoch then redis.call('DEL', KEYS[1], KEYS[3]) end
local entry = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local first = entry and tonumber(entry[2][2]) or number + 1
local position = tonumber(ARGV[3])
local known = redis.call('XRANGE', KEYS[1], ARGV[4], ARGV[4])[1]
local hasKnown = first > position or known and tonumber(known[2][2]) == position
if not epoch or (epoch == ARGV[2] and (number < position or not hasKnown)) then
  epoch = ARGV[1]
  redis.call('HSET', KEYS[2], 'epoch', epoch)
end
return {epoch, first, number, redis.call('HGETALL', KEYS[3])}`;
