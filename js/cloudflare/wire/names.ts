/**
 * The name of one bus, or a function that returns the name of the bus of each request; undefined
 * where there is no such bus. A name has at most 256 characters, none of which is a control
 * character.
 */
export type BusName =
  | string
  | ((request: Request) => string | undefined | Promise<string | undefined>);

/** Returns the name of the bus of a request; undefined where no bus may have that name. */
export async function busNameOf(bus: BusName, request: Request): Promise<string | undefined> {
  const name = typeof bus === 'string' ? bus : await bus(request);
  if (typeof name !== 'string' || name === '' || name.length > LONGEST || CONTROL.test(name))
    return undefined;
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
