import { type ShardAddress, shardName } from './names.js';

/** The methods of a shard that its root calls. */
export interface ShardStub {
  deliver(batch: string): Promise<string>;
  tellSession(call: string): Promise<void>;
}

/** The methods of a root that its shards call. */
export interface RootStub {
  follow(shard: number, call: string): Promise<string>;
}

/**
 * Returns the stub of a shard. If the object does not exist yet, it is created near `continent`.
 */
export function objectOf<Stub>(
  namespace: DurableObjectNamespace,
  address: ShardAddress,
  continent: string,
): Stub {
  const hint = locationHint(continent);
  const options = hint === undefined ? {} : { locationHint: hint };
  return namespace.getByName(shardName(address), options) as unknown as Stub;
}

/**
 * Returns the location hint for an object near the clients on a continent, given as a code of two
 * letters.
 */
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
