import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Scenario } from '../scenario.ts';
import type { Moment, Stage } from '../stage.ts';

/** Faults of a bus with shards. */
export const SHARDS: Scenario[] = [
  sharded('a shard is reset', { short: 100 }, async (stage) => {
    const [shard = 0] = await stage.world.shards();
    const from = await stage.moment();
    await stage.world.resetBus(shard);
    await stage.heal(from);
  }),
  sharded('all shards are reset at once', {}, async (stage) => {
    const shards = await stage.world.shards();
    const from = await stage.moment();
    await Promise.all(shards.map((shard) => stage.world.resetBus(shard)));
    await stage.heal(from);
  }),
  sharded(
    'the root is reset, and then each shard, while events are published',
    {},
    async (stage) => {
      let from: Moment | undefined;
      for (const object of [undefined, ...(await stage.world.shards())]) {
        if (from !== undefined) await setTimeout(200);
        from = await stage.moment();
        await stage.world.resetBus(object);
      }
      await stage.heal(from);
    },
  ),
  sharded('SIGKILL of root and shards, back after 2 s', {}, async (stage) => {
    await stage.world.killBus();
    await setTimeout(2_000);
    await stage.world.startBus();
    await stage.heal();
  }),
];

/** A scenario in which the shared connection of each isolate is at a shard. */
function sharded(name: string, short: { short?: number }, run: Scenario['run']): Scenario {
  return {
    name: `shards: ${name}`,
    promise: 'P1, P6',
    losesPublishes: 'a publish may coincide with the reset or the end of an object',
    streams: 1_000,
    ...short,
    world: { isDirect: true, edgesPerShard: 1 },
    run: async (stage) => {
      await untilAtShards(stage);
      await setTimeout(1_000);
      await run(stage);
      await setTimeout(1_000);
    },
  };
}

/** Resolves once no stream is at the root. */
async function untilAtShards({ open, world }: Stage): Promise<void> {
  const attached = world.sockets === 'each' ? open.length : world.edges.length;
  await expect
    .poll(() => world.busStats(), { timeout: 20_000 })
    .toMatchObject({ attached, sockets: 0 });
}
