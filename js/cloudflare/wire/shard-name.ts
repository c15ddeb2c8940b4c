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
