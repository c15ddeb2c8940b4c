import { setTimeout } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

const AWAY = 'the bus is unavailable';

/** Faults of the process of the bus, and of an edge, without the wire between them. */
export const BUS_PROCESS: Scenario[] = [
  killed(100),
  killed(2_000, { short: 200 }),
  killed(35_000),
  {
    name: 'SIGKILL of the bus, back after 2 s on an empty disk',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true },
    losesPublishes: AWAY,
    hasTasks: false,
    run: (stage) => killAndReturn(stage, 2_000, true),
  },
  {
    name: 'five SIGKILLs of the bus, one each second',
    promise: 'P1, P6',
    streams: 1_000,
    losesPublishes: AWAY,
    world: { isDirect: true },
    run: async (stage) => {
      for (let round = 0; round < 5; round += 1) {
        if (round > 0) await setTimeout(1_000);
        await stage.world.killBus();
        await stage.world.startBus();
      }
      await stage.heal();
    },
  },
  stopped(5_000),
  stopped(30_000),
  {
    name: 'SIGKILL of one edge, whose clients reconnect to the other',
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true },
    ends: {
      most: (streams) => streams / 2,
      why: 'half of the streams are at the killed edge',
    },
    losesPublishes: 'half of the publishes go to the killed edge',
    run: async (stage) => {
      const [edge, other] = stage.world.edges;
      const before = stage.open.length;
      await edge?.kill();
      await setTimeout(500);
      const lost = before - stage.open.length;
      stage.world.edges.splice(0, 1);
      await Promise.all(Array.from({ length: lost }, () => stage.reconnect(other?.edges[0])));
      await setTimeout(2_000);
    },
  },
];

function killed(awayMs: number, short: { short?: number } = {}): Scenario {
  return {
    name: `SIGKILL of the bus, back after ${awayMs / 1_000} s`,
    promise: 'P1, P6',
    streams: 1_000,
    ...short,
    world: { isDirect: true },
    losesPublishes: AWAY,
    run: (stage) => killAndReturn(stage, awayMs, false),
  };
}

async function killAndReturn(stage: Stage, awayMs: number, isDiskNew: boolean): Promise<void> {
  await setTimeout(1_000);
  await stage.world.killBus();
  await setTimeout(awayMs);
  await stage.world.startBus({ isDiskNew });
  await stage.heal();
  await setTimeout(1_000);
}

/** A stopped process keeps its sockets, and does not reply. */
function stopped(ms: number): Scenario {
  return {
    name: `the bus hangs for ${ms / 1_000} s (SIGSTOP)`,
    promise: 'P1, P6',
    streams: 1_000,
    world: { isDirect: true },
    losesPublishes: 'the bus does not reply within the 15 s that a publisher waits',
    run: async (stage) => {
      process.kill(stage.world.busPid, 'SIGSTOP');
      await setTimeout(ms);
      process.kill(stage.world.busPid, 'SIGCONT');
      await stage.heal();
    },
  };
}
