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
