import { OUTDATED } from './close-codes.js';

/** Header of an edge's upgrade: the key of the object, without which the upgrade is refused. */
export const KEY_HEADER = 'mcp-listen-key';
/** Header of an edge's upgrade: the version of the wire format, see {@link WIRE}. */
export const WIRE_HEADER = 'mcp-listen-wire';
/** Header of an edge's upgrade: the id of its deployment. */
export const DEPLOYMENT_HEADER = 'mcp-listen-deployment';
/** Header of an edge's upgrade: the continent code of its client. */
export const CONTINENT_HEADER = 'mcp-listen-continent';
/** Header of an edge's upgrade: the name of the shard that has just refused it. */
export const FULL_HEADER = 'mcp-listen-full';
/** Header of a 421: the name of the shard to which the edge has to connect. */
export const SHARD_HEADER = 'mcp-listen-shard';

/**
 * The version of the wire format between edges and bus objects. An object serves only edges of this
 * version.
 */
export const WIRE = '3';

/** Whether the object can serve the edge that sent this upgrade. */
export function servesEdge(headers: Headers): boolean {
  return headers.get(WIRE_HEADER) === WIRE;
}

/**
 * Returns a response to the upgrade of an edge that the object cannot serve: a socket that closes
 * at once with {@link OUTDATED}.
 */
export function rejectUpgrade(headers: Headers): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  const headerOf = (name: string): string =>
    (headers.get(name) ?? 'unknown').slice(0, MAX_VALUE_CHARACTERS);
  server.accept();
  server.close(
    OUTDATED,
    `wire ${headerOf(WIRE_HEADER)} of deployment ${headerOf(DEPLOYMENT_HEADER)}, not ${WIRE}`,
  );
  return new Response(null, { status: 101, webSocket: client });
}

/** Maximum characters of each value in the close reason, which has room for 123 bytes. */
const MAX_VALUE_CHARACTERS = 40;
