import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { retried } from '../../host/retried.ts';
import type { Stage, StageOptions } from './stage.ts';

/** What happens to the bus while the clients listen at an edge that stays. */
export interface Fault extends StageOptions {
  across: string;
  /** Prepares the bus, before anything changes. */
  before?: (stage: Stage) => Promise<unknown>;
  happens: (stage: Stage) => Promise<unknown>;
}

/** The faults that must end no stream. */
export const FAULTS: Fault[] = [
  {
    across: 'a reset of the bus object',
    happens: async ({ world }) => {
      const wakes = await world.call<number>('wakes');
      await world.resetBus();
      expect(await world.call('wakes')).toBe(wakes + 1);
    },
  },
  { across: 'a redeploy of the bus alone', happens: redeploy },
  { across: 'a move from the bus object to a shard', edgesPerShard: 2, happens: toShards },
  {
    across: 'a move from one shard to another',
    edgesPerShard: 2,
    before: toShards,
    // By way of the bus object: the first shard closes when few streams are left.
    happens: async (stage) => {
      const former = await stage.world.shards();
      await toRoot(stage);
      await toShards(stage);
      expect((await stage.world.shards()).filter((shard) => former.includes(shard))).toEqual([]);
    },
  },
  { across: 'a redeploy, with a socket a stream', sockets: 'each', happens: redeploy },
  {
    across: 'a move, with a socket a stream',
    sockets: 'each',
    edgesPerShard: 5,
    happens: toShards,
  },
];

/** The bus is unavailable for a while, and comes back with its storage. */
async function redeploy({ world }: Stage): Promise<void> {
  await world.killBus();
  await setTimeout(DEPLOY_MS);
  await world.startBus();
}

/** Opens more sockets than the bus object holds: it opens shards, and all streams move there. */
async function toShards(stage: Stage): Promise<void> {
  await stage.enter();
  await retried(() => isAt(stage, 'shards'), WITHIN_MS);
}

/** Drops those streams: the shards close, and the streams that are left move to the bus object. */
async function toRoot(stage: Stage): Promise<void> {
  stage.leave();
  await retried(() => isAt(stage, 'root'), WITHIN_MS);
}

/** Throws unless all streams are at shards, or all of them at the bus object. */
async function isAt({ world }: Stage, place: 'shards' | 'root'): Promise<void> {
  const { shards, sockets } = await world.busStats();
  const edges = await Promise.all([world.stats(0), world.stats(1)]);
  expect(edges.map(({ away }) => away)).toEqual([0, 0]);
  expect([shards.length > 0, sockets > 0]).toEqual([place === 'shards', place === 'root']);
}

/** Milliseconds that the bus is unavailable. */
const DEPLOY_MS = 2_000;
/** Milliseconds for all streams to move. */
const WITHIN_MS = 30_000;
