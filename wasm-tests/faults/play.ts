import { spread } from './judgement/heal.ts';
import { boundOf, reasonsOf, violationsOf } from './judgement/judgement.ts';
import type { Result, Scenario } from './scenario.ts';
import { Stage } from './stage.ts';
import { World } from './world.ts';

/** Plays one scenario on new processes, and judges it. */
export async function play(scenario: Scenario, isWhole: boolean): Promise<Result> {
  const began = performance.now();
  const { options, ...given } = scenario.world ?? {};
  // The timer of a request that is gone counts as armed for two of these intervals.
  const keepAliveMs = isWhole ? 5_000 : 1_000;
  const world = await World.start({ ...given, options: { keepAliveMs, ...options } });
  try {
    const stage = await Stage.start(world, scenario, isWhole);
    const measured = await perform(scenario, stage);
    const { name, promise } = scenario;
    const seconds = (performance.now() - began) / 1_000;
    const { calm, failure } = measured;
    const bound = calm === undefined ? {} : { bound: boundOf(scenario, { ...measured, calm }) };
    const result = { name, promise, ...measured, ...bound, reasons: reasonsOf(scenario), seconds };
    const violations = violationsOf(scenario, result);
    return {
      ...result,
      violations: failure === undefined ? violations : [failure, ...violations],
    };
  } finally {
    await world.stop();
  }
}

/** Runs the fault, and returns all measurements. */
async function perform(scenario: Scenario, stage: Stage) {
  const before = {
    requested: stage.requested,
    opens: stage.opens,
    streams: stage.open.length,
    sockets: stage.sockets,
    attached: stage.attached,
  };
  const failure = await failureOf(scenario, stage);
  const missing = await stage.publisher.settle(stage.listeners, SETTLE_MS);
  const ended = { open: stage.open.length, ended: stage.ended, refusals: stage.refusals };
  const canSleep = stage.isWhole && ended.open > 0 && !scenario.isBusy && failure === undefined;
  const hibernates = canSleep ? { hibernates: await stage.hibernates() } : {};
  const counts = {
    ...before,
    ...ended,
    missing: missing + stage.passed.missing,
    ...countsOf(stage),
  };
  const failed = failure === undefined ? {} : { failure };
  return { ...counts, ...hibernates, left: await stage.left(), ...failed };
}

/** Runs the fault while events are published; resolves with the message of an error, if any. */
async function failureOf(scenario: Scenario, stage: Stage): Promise<string | undefined> {
  if (stage.listeners.length > 0) stage.keepPublishing();
  try {
    stage.calm = await stage.measurePublish();
    await scenario.run(stage);
    if (stage.healMs.length > 0) stage.healed = await stage.measurePublish();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await stage.publisher.stop();
  }
}

function countsOf({
  calm,
  healed,
  healMs,
  isWhole,
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
    isWhole,
    machineMs: Math.round(machineMs),
    passed: passed.streams,
    early: sum('early'),
    foreign: sum('foreign'),
    inversions: sum('inversions'),
    ...(healMs.length === 0 ? {} : { heal: spread(healMs) }),
    ...(calm === undefined ? {} : { calm }),
    ...(healed === undefined ? {} : { healed }),
    ...(note === undefined ? {} : { note }),
  };
}

/** Milliseconds that a cue may take. */
const SETTLE_MS = 45_000;
