import { BLOCK_MS, type RedisConnection } from './connection.js';

/** An entry of a Redis stream. */
export interface StreamEntry {
  id: string;
  fields: Record<string, string>;
}

/** Waits for entries of a stream after `id`, and returns them; none if none arrived in time. */
export async function readAfter(
  reader: RedisConnection,
  stream: string,
  id: string,
): Promise<StreamEntry[]> {
  const reply = await reader.call([
    ...['XREAD', 'COUNT', `${BATCH}`, 'BLOCK', `${BLOCK_MS}`],
    ...['STREAMS', stream, id],
  ]);
  return entriesOf(entriesIn(reply, stream));
}

/** Returns the entries of a reply: pairs of an id and a list of fields and values. */
export function entriesOf(reply: unknown): StreamEntry[] {
  return (reply as [string, string[]][]).map(([id, list]) => {
    const fields: Record<string, string> = {};
    for (let index = 0; index + 1 < list.length; index += 2)
      fields[list[index] as string] = list[index + 1] as string;
    return { id, fields };
  });
}

/**
 * Returns the entries of the one stream that was read. RESP2 replies with pairs of a stream and its
 * entries, RESP3 with a map, which clients read as an object or as a flat list.
 */
function entriesIn(reply: unknown, stream: string): unknown {
  if (reply === null || reply === undefined) return [];
  if (!Array.isArray(reply)) return (reply as Record<string, unknown>)[stream] ?? [];
  const pair = Array.isArray(reply[0]) ? reply[0] : reply;
  return pair[1] ?? [];
}

/** The number of entries that one command reads. */
const BATCH = 256;
