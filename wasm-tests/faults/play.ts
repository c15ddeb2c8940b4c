import { type Result, type Scenario, violationsOf } from './scenario.ts';
import { Stage } from './stage.ts';
import { World } from './world.ts';

/** Plays one scenario on processes of its own, and tells what became of it. */
export async function play(scenario: Scenario, isWhole: boolean): Promise<Result> {
  const began = performance.now();
  const world = await World.start(scenario.world);
  try {
    const stage = await Stage.set(world, scenario, isWhole);
    const told = await lived(scenario, stage);
    const { name, promise } = scenario;
    const result = { name, promise, ...told, seconds: (performance.now() - began) / 1_000 };
    const violations = violationsOf(scenario, result);
    return { ...result, violations: told.failure === undefined ? violations : [told.failure, ...violations] };
  } finally {
    await world.stop();
  }
}

async function lived(scenario: Scenario, stage: Stage) {
  const streams = stage.open.length;
  const failure = await performed(scenario, stage);
  const missing = await stage.publisher.settled(stage.listeners, SETTLE_MS);
  const open = stage.open.length;
  const canSleep = stage.isWhole && open > 0 && !scenario.isBusy && failure === undefined;
  const hibernates = canSleep ? { hibernates: await stage.hibernates() } : {};
  const told = { streams, open, missing: missing + stage.passed.missing, ...counted(stage), ...hibernates };
  return { ...told, left: await stage.left(), ...(failure === undefined ? {} : { failure }) };
}

/** Publishes while the fault is there, and for a while after; answers what went wrong with it. */
async function performed(scenario: Scenario, stage: Stage): Promise<string | undefined> {
  if (stage.listeners.length > 0) stage.spin();
  try {
    await scenario.run(stage);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await stage.publisher.stop();
  }
}

function counted({ healMs, listeners, note, passed, publisher }: Stage) {
  const sum = (count: 'early' | 'foreign' | 'inversions') =>
    listeners.reduce((all, each) => all + each[count], passed[count]);
  return {
    ...publisher.counts,
    passed: passed.streams,
    early: sum('early'),
    foreign: sum('foreign'),
    inversions: sum('inversions'),
    ...(healMs.length === 0 ? {} : { heal: spread(healMs) }),
    ...(note === undefined ? {} : { note }),
  };
}

function spread(times: number[]) {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { median: at(0.5), p99: at(0.99), max: at(1) };
}

/** How long a cue may be on its way. */
const SETTLE_MS = 45_000;
