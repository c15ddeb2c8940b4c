import { type ShardAddress, shardName } from './names.js';

/** What a root asks of its shards. */
export interface ShardStub {
  deliver(batch: string): Promise<string>;
  tellSession(call: string): Promise<void>;
}

/** What a shard asks of its root. */
export interface RootStub {
  follow(shard: number, call: string): Promise<string>;
}

/** The object that is a shard; where nobody has asked for it before, it begins near `continent`. */
export function objectOf<Stub>(
  namespace: DurableObjectNamespace,
  address: ShardAddress,
  continent: string,
): Stub {
  const hint = locationHint(continent);
  const options = hint === undefined ? {} : { locationHint: hint };
  return namespace.getByName(shardName(address), options) as unknown as Stub;
}

/** Where an object has to be so that it is near the clients on a continent, which is a code of two letters. */
export function locationHint(continent: string): DurableObjectLocationHint | undefined {
  return HINTS[continent];
}

const HINTS: Record<string, DurableObjectLocationHint> = {
  AF: 'afr',
  AS: 'apac',
  EU: 'weur',
  NA: 'enam',
  OC: 'oc',
  SA: 'sam',
};
