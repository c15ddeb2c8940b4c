/** Says which bus a request has to do with; undefined: none that there is. */
export type BusName = (request: Request) => string | undefined | Promise<string | undefined>;

/** Which bus a request has to do with; undefined where no bus may be called so. */
export async function busNameOf(busName: BusName | string, request: Request): Promise<string | undefined> {
  const name = typeof busName === 'string' ? busName : await busName(request);
  if (typeof name !== 'string' || name === '' || name.length > LONGEST || CONTROL.test(name)) return undefined;
  return shardAddress(name) === undefined ? name : undefined;
}

/** The bus of those who name none. */
export const DEFAULT_BUS = 'mcp-listen';
/** What is signed has a line for the name. */
const CONTROL = /\p{Cc}|\p{Cs}/u;
/** Objects do not know their names where these are much longer. */
const LONGEST = 256;

/** One of the shards of a bus. */
export interface ShardAddress {
  /** The name of the bus. */
  bus: string;
  /** Counts the shards of one bus, from 1. */
  shard: number;
}

/** The name of the object that is this shard. */
export function shardName({ bus, shard }: ShardAddress): string {
  return `${bus}/shard-${shard}`;
}

/** Which shard an object is by its name; undefined where it is none. */
export function shardAddress(name: string): ShardAddress | undefined {
  const { bus, shard } = /^(?<bus>.*)\/shard-(?<shard>[1-9]\d{0,8})$/s.exec(name)?.groups ?? {};
  return bus === undefined ? undefined : { bus, shard: Number(shard) };
}
