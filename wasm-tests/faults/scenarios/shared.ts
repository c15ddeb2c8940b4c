import type { Scenario } from '../scenario.ts';
import { BUS_OBJECT } from './bus-object.ts';
import { BUS_PROCESS } from './bus-process.ts';
import { CLIENTS } from './clients.ts';
import { SHARDS } from './shards.ts';
import { WIRE } from './wire.ts';

const ALL = [...BUS_PROCESS, ...BUS_OBJECT, ...SHARDS, ...WIRE, ...CLIENTS];

/** The same faults where all streams of an isolate share one socket to the bus. */
export const SHARED: Scenario[] = [
  shared('SIGKILL of the bus, back after 2 s', { short: 100 }),
  shared('SIGKILL of the bus, back after 2 s on an empty disk'),
  shared('SIGKILL of one edge: its clients come back at the other'),
  shared('the object is reset while events are published'),
  shared('9,000 events are published while the edges are away'),
  shared('shards: all shards are reset at once'),
  shared('all sockets are closed with 1006'),
  shared('a fifth of all events is dropped'),
  shared('a fifth of all events comes 5 s later'),
  shared('a fifth of all events comes after the next one'),
  shared('a fifth of all events is cut in the middle'),
  shared('all clients are dropped and come back at once'),
];

function shared(name: string, short: { short?: number } = {}): Scenario {
  const scenario = ALL.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`there is no fault ${name}`);
  const { short: _, world, ...rest } = scenario;
  // A shard is full of sockets, and here they are two.
  const edgesPerShard = world?.edgesPerShard === undefined ? {} : { edgesPerShard: 1 };
  return {
    ...rest,
    ...short,
    name: `one socket an isolate: ${name}`,
    world: { ...world, ...edgesPerShard, sockets: 'shared' },
  };
}
