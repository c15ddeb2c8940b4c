import type { Scenario } from '../scenario.ts';
import { BUS_OBJECT } from './bus-object.ts';
import { BUS_PROCESS } from './bus-process.ts';
import { CLIENTS } from './clients.ts';
import { SHARDS } from './shards.ts';
import { WIRE } from './wire.ts';

const ALL = [...BUS_PROCESS, ...BUS_OBJECT, ...SHARDS, ...WIRE, ...CLIENTS];

/** Some of the faults with one socket for each stream. */
export const EACH: Scenario[] = [
  // Each of these sockets costs processor time after the return of the bus.
  each('SIGKILL of the bus, back after 2 s', { short: 100 }),
  each('SIGKILL of the bus, back after 35 s'),
  each('SIGKILL of the bus, back after 2 s on an empty disk'),
  each('SIGKILL of one edge, whose clients reconnect to the other'),
  each('the object is reset while events are published'),
  each('9,000 events are published while the edges are away'),
  each('shards: a shard is reset'),
  each('shards: all shards are reset at once'),
  each('all sockets are closed with 1006'),
  each('all sockets are closed with 1009'),
  each('all sockets are closed with 1011'),
  each('some sockets are lost at an event'),
  each('a fifth of all events is dropped', { short: 100 }),
  each('a fifth of all events arrives 5 s late'),
  each('a fifth of all events arrives after the next frame'),
  each('a fifth of all events arrives after the next chosen event'),
  each('a fifth of all events is truncated'),
  each('sockets stay open and silent, busProbeIntervalMs 1,000'),
  each('the bus loses sockets without the edges noticing, busProbeIntervalMs 1,000'),
  each('upgrades get 200 without a socket for 5 s'),
  each('upgrades get an overloaded error for 60 s'),
  each('upgrades hang for 4 s, attachMs 1,000'),
  each('all clients disconnect and reconnect at once'),
];

function each(name: string, short: { short?: number } = {}): Scenario {
  const scenario = ALL.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario is called ${name}`);
  const { short: _, world, ...rest } = scenario;
  // 1,000 sockets need 14 shards.
  const edgesPerShard = world?.edgesPerShard === undefined ? {} : { edgesPerShard: 75 };
  return {
    ...rest,
    ...short,
    name: `a socket each: ${name}`,
    world: { ...world, ...edgesPerShard, sockets: 'each' },
  };
}
