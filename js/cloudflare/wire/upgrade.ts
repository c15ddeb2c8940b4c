import { OUTDATED } from './close-codes.js';

/** On the upgrade of an edge: the key of the object, without which it is refused. */
export const KEY_HEADER = 'mcp-listen-key';
/** On the upgrade of an edge: the version of the wire, see `WIRE`. */
export const BUS_HEADER = 'mcp-listen-bus';
/** On the upgrade of an edge: the id of its deployment. */
export const DEPLOYMENT_HEADER = 'mcp-listen-deployment';
/** On the upgrade of an edge: on which continent its client is. */
export const CONTINENT_HEADER = 'mcp-listen-continent';
/** On the upgrade of an edge: the name of the shard that has just refused it. */
export const FULL_HEADER = 'mcp-listen-full';
/** With a 421: the name of the shard where the edge has to go. */
export const SHARD_HEADER = 'mcp-listen-shard';

/** The version of what edges and bus objects send each other. An object serves edges of this version alone. */
export const WIRE = '3';

/** Whether the object can serve the edge that sent this upgrade. */
export function servesEdge(headers: Headers): boolean {
  return headers.get(BUS_HEADER) === WIRE;
}

/** Answers the upgrade of an edge that the object cannot serve: the socket closes at once, as {@link OUTDATED}. */
export function turnedAway(headers: Headers): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  const told = (name: string): string => (headers.get(name) ?? 'unknown').slice(0, MAX_TOLD);
  server.accept();
  server.close(
    OUTDATED,
    `wire ${told(BUS_HEADER)} of deployment ${told(DEPLOYMENT_HEADER)}, not ${WIRE}`,
  );
  return new Response(null, { status: 101, webSocket: client });
}

/** A close frame has room for 123 bytes of reason. */
const MAX_TOLD = 40;
