/**
 * The name of one bus, or a function that returns the name of the bus of each request; undefined if
 * there is no such bus. A name has 1 to 256 characters, without control characters or lone
 * surrogates.
 */
export type BusName =
  | string
  | ((request: Request) => string | undefined | Promise<string | undefined>);

/** Returns the name of the bus of a request; undefined if no bus may have that name. */
export async function busNameOf(bus: BusName, request: Request): Promise<string | undefined> {
  const name = typeof bus === 'string' ? bus : await bus(request);
  if (typeof name !== 'string' || name === '' || name.length > MAX_CHARACTERS || CONTROL.test(name))
    return undefined;
  return isReserved(name) ? undefined : name;
}

/** The default name of a bus. */
export const DEFAULT_BUS = 'mcp-listen';
/** Characters that a name must not have. The name is one line of the signed text. */
const CONTROL = /\p{Cc}|\p{Cs}/u;
/** Maximum characters of a name. Objects with much longer names do not know them. */
const MAX_CHARACTERS = 256;

/** The address of a shard. */
export interface ShardAddress {
  /** The name of the bus. */
  bus: string;
  /** The number of the shard, from 1. */
  shard: number;
}

/** Returns the name of the object of a shard. */
export function shardName({ bus, shard }: ShardAddress): string {
  return `${bus}/shard-${shard}`;
}

/** Returns the shard that the name of an object addresses; undefined if it is not a shard's. */
export function shardAddress(name: string): ShardAddress | undefined {
  const { bus, shard } = /^(?<bus>.*)\/shard-(?<shard>[1-9]\d{0,8})$/s.exec(name)?.groups ?? {};
  return bus === undefined ? undefined : { bus, shard: Number(shard) };
}

/** The address of an object that delivers to webhooks. */
export interface WebhookAddress {
  /** The name of the bus. */
  bus: string;
  /** The number of the object, from 1. */
  object: number;
}

/** Returns the name of an object that delivers to webhooks. */
export function webhookObjectName({ bus, object }: WebhookAddress): string {
  return `${bus}/hooks-${object}`;
}

/** Returns what the name of an object that delivers to webhooks addresses; undefined for others. */
export function webhookAddress(name: string): WebhookAddress | undefined {
  const { bus, object } = /^(?<bus>.*)\/hooks-(?<object>[1-9]\d{0,8})$/s.exec(name)?.groups ?? {};
  return bus === undefined ? undefined : { bus, object: Number(object) };
}

/** Returns whether a name is that of an object beside a bus, which no bus may have. */
export function isReserved(name: string): boolean {
  return shardAddress(name) !== undefined || webhookAddress(name) !== undefined;
}
