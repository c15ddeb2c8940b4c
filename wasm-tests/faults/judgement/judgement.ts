import { MAX_CALM_MS, MAX_WAIT_MS } from '../../../scripts/checks/table.mjs';
import type { Allowance, Result, Scenario } from '../scenario.ts';
import type { Spread } from './heal.ts';

/** The measurements of a run. */
export type Measured = Omit<Result, 'violations'>;

/** In which set a scenario ran, and how busy its machine was. */
export interface Circumstances {
  /** Whether it ran in the whole set. */
  isWhole: boolean;
  /** The times of a publish before the fault. */
  calm: Spread;
  /** Milliseconds that a process waited for a processor while streams healed. */
  machineMs: number;
}

/** The violations of a run, as texts. */
export function violationsOf(scenario: Scenario, result: Measured): string[] {
  const { early, foreign, hibernates, inversions, left, missing, refusedLater } = result;
  const { refused, ...rest } = {
    ...left,
    missing,
    early,
    foreign,
    inversions,
    refused: refusedLater,
  };
  const counts = { ...rest, 'publishes refused after the fault': refused };
  return [
    ...Object.entries(counts).flatMap(([what, count]) =>
      count === 0 ? [] : [`${what}: ${count}`],
    ),
    ...streamsOf(scenario, result),
    ...connectionsOf(scenario, result),
    ...publishesOf(scenario, result),
    ...timesOf(scenario, result),
    ...(hibernates === false ? ['does not hibernate'] : []),
  ];
}

/**
 * The bounds of the median and the 99th percentile: those of P1, plus the documented ceiling.
 * Beside other lanes the machine raises them: by the time before the fault and by the time without
 * a processor, as far as {@link MAX_CALM_MS} and {@link MAX_WAIT_MS}. The whole set has the machine
 * to itself, and nothing raises them there.
 */
export function boundOf(
  { ceiling }: Pick<Scenario, 'ceiling'>,
  { calm, isWhole, machineMs }: Circumstances,
): { median: number; p99: number } {
  const more = ceiling?.ms ?? 0;
  if (isWhole) return { median: MEDIAN_MS + more, p99: P99_MS + more };
  const late = more + Math.min(machineMs, MAX_WAIT_MS);
  return {
    median: MEDIAN_MS + late + Math.min(calm.median, MAX_CALM_MS),
    p99: P99_MS + late + Math.min(calm.p99, MAX_CALM_MS),
  };
}

/** The reasons of the allowances of a scenario. */
export function reasonsOf({ ceiling, ends, losesPublishes, refusals }: Scenario): string[] {
  return [
    ceiling === undefined ? [] : [`bound ${ceiling.ms} ms later: ${ceiling.why}`],
    ends === undefined ? [] : [`ends: ${ends.why}`],
    losesPublishes === undefined ? [] : [`publishes refused: ${losesPublishes}`],
    refusals === undefined ? [] : [`streams refused: ${refusals.why}`],
  ].flat();
}

function streamsOf(
  scenario: Scenario,
  { requested, opens, ended, refusals, streams }: Measured,
): string[] {
  const { ends, refusals: refusable } = scenario;
  const { 503: unavailable = 0, ...others } = refusals;
  const statuses = Object.entries(refusals).map(([status, count]) => `${count} x ${status}`);
  const all = requested + opens;
  const isRefused =
    unavailable > allowed(refusable, all) || Object.values(others).some((count) => count > 0);
  return [
    ...(streams < requested ? [`acknowledged: ${streams} of ${requested}`] : []),
    ...(isRefused ? [`refused streams: ${statuses.join(', ')}`] : []),
    ...(ended > allowed(ends, all) ? [`ended without cause: ${ended}`] : []),
  ];
}

/** With `auto`, the streams of an edge share a connection unless the write probe fails. */
function connectionsOf({ world }: Scenario, { attached }: Measured): string[] {
  const isShared = (world?.sockets ?? 'auto') === 'auto' && world?.refusesCrossing !== true;
  return isShared && attached > MAX_SHARED ? [`connections to the bus: ${attached}`] : [];
}

function publishesOf({ losesPublishes }: Scenario, { refused }: Measured): string[] {
  return refused > 0 && losesPublishes === undefined ? [`refused publishes: ${refused}`] : [];
}

function timesOf(scenario: Scenario, measured: Measured): string[] {
  const { calm, heal } = measured;
  if (heal === undefined) return [];
  if (calm === undefined) return ['times not judged: no measurement before the fault'];
  const bound = boundOf(scenario, { ...measured, calm });
  return (['median', 'p99'] as const).flatMap((which) =>
    heal[which] > bound[which]
      ? [`${which} back after ${Math.round(heal[which])} ms, bound ${Math.round(bound[which])} ms`]
      : [],
  );
}

function allowed(allowance: Allowance | undefined, streams: number): number {
  return allowance?.most(streams) ?? 0;
}

/**
 * The shared connection of each edge, and one more each: a stream that has waited too long for the
 * write probe opens its own.
 */
const MAX_SHARED = 4;
/** Bounds of the milliseconds from the return of the bus to a cue (P1). */
const MEDIAN_MS = 2_000;
const P99_MS = 4_000;
