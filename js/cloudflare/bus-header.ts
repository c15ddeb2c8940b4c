/**
 * On every upgrade of an edge: a socket without it is not one of ours. Its value is the version of what the edge
 * understands: from 2 on it can be sent to a shard.
 */
export const BUS_HEADER = 'mcp-listen-bus';
/** On the upgrade of an edge: on which continent its client is. */
export const CONTINENT_HEADER = 'mcp-listen-continent';
/** On the upgrade of an edge: the name of the shard that has just refused it. */
export const FULL_HEADER = 'mcp-listen-full';
/** With a 421: the name of the shard where the edge has to go. */
export const SHARD_HEADER = 'mcp-listen-shard';

/** Whether the request is an edge's for a socket; otherwise the answer that refuses it. */
export function refusalOf({ headers }: Request): Response | undefined {
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket') {
    return new Response(null, { status: 426, headers: { upgrade: 'websocket' } });
  }
  return headers.has(BUS_HEADER) ? undefined : new Response(null, { status: 403 });
}
