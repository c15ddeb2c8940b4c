import type { PlannedEnd } from '../../bus/server-stream.js';
import { isBusy } from '../../model/error.js';
import { Loss, Retirement } from '../../wasm/server/bindings.js';

/** Durations for streams that their bus ends. An object, so that tests can shorten them. */
export const PLANNED_END = {
  /** Milliseconds over which the streams of an outdated deployment end. */
  outdatedMs: 30_000,
};

/**
 * Returns when and why a stream ends after it lost its bus with this code; undefined if it stays
 * open.
 */
export function plannedEnd(code: string | undefined, now: number): PlannedEnd | undefined {
  if (code !== 'bus-outdated') return undefined;
  return { at: now + Math.random() * PLANNED_END.outdatedMs, reason: Retirement.Outdated };
}

/** Returns how the core handles the loss of a bus with this code. */
export function lossOf(code: string | undefined): Loss {
  if (code === 'bus-full') return Loss.Full;
  return isBusy(code) ? Loss.Busy : Loss.Lost;
}
