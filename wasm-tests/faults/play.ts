import { spread } from './judgement/heal.ts';
import { boundOf, reasonsOf, violationsOf } from './judgement/judgement.ts';
import type { Result, Scenario } from './scenario.ts';
import { Stage } from './stage.ts';
import { World } from './world.ts';

/** Plays one scenario on processes of its own, and tells what became of it. */
export async function play(scenario: Scenario, isWhole: boolean): Promise<Result> {
  const began = performance.now();
  const { options, ...given } = scenario.world ?? {};
  // What a request that is gone repeats counts as a timer for two of these.
  const keepAliveMs = isWhole ? 5_000 : 1_000;
  const world = await World.start({ ...given, options: { keepAliveMs, ...options } });
  try {
    const stage = await Stage.set(world, scenario, isWhole);
    const told = await lived(scenario, stage);
    const { name, promise } = scenario;
    const seconds = (performance.now() - began) / 1_000;
    const bound =
      told.calm === undefined ? {} : { bound: boundOf(scenario, told.calm, told.machineMs) };
    const result = { name, promise, ...told, ...bound, reasons: reasonsOf(scenario), seconds };
    const violations = violationsOf(scenario, result);
    return {
      ...result,
      violations: told.failure === undefined ? violations : [told.failure, ...violations],
    };
  } finally {
    await world.stop();
  }
}

async function lived(scenario: Scenario, stage: Stage) {
  const entered = {
    asked: stage.asked,
    streams: stage.open.length,
    sockets: await stage.sockets(),
  };
  const failure = await performed(scenario, stage);
  const missing = await stage.publisher.settled(stage.listeners, SETTLE_MS);
  const ended = { open: stage.open.length, ended: stage.ended, refusals: stage.refusals };
  const canSleep = stage.isWhole && ended.open > 0 && !scenario.isBusy && failure === undefined;
  const hibernates = canSleep ? { hibernates: await stage.hibernates() } : {};
  const told = { ...entered, ...ended, missing: missing + stage.passed.missing, ...counted(stage) };
  const failed = failure === undefined ? {} : { failure };
  return { ...told, ...hibernates, left: await stage.left(), ...failed };
}

/** Publishes while the fault is there, and for a while after; answers what went wrong with it. */
async function performed(scenario: Scenario, stage: Stage): Promise<string | undefined> {
  if (stage.listeners.length > 0) stage.spin();
  try {
    await stage.calmed();
    await scenario.run(stage);
    if (stage.healMs.length > 0) await stage.calmed();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await stage.publisher.stop();
  }
}

function counted({
  calm,
  healMs,
  listeners,
  machineMs,
  note,
  passed,
  publisher,
  refusedLater,
}: Stage) {
  const sum = (count: 'early' | 'foreign' | 'inversions') =>
    listeners.reduce((all, each) => all + each[count], passed[count]);
  return {
    ...publisher.counts,
    refusedLater,
    machineMs: Math.round(machineMs),
    passed: passed.streams,
    early: sum('early'),
    foreign: sum('foreign'),
    inversions: sum('inversions'),
    ...(healMs.length === 0 ? {} : { heal: spread(healMs) }),
    ...(calm === undefined ? {} : { calm }),
    ...(note === undefined ? {} : { note }),
  };
}

/** How long a cue may be on its way. */
const SETTLE_MS = 45_000;
