import type { Retiring } from '../../bus/server-stream.js';
import { Retirement } from '../../wasm/server/bindings.js';

/** Durations for streams that their bus ends. An object, so that tests can shorten them. */
export const BUS_ENDS = {
  /** Milliseconds over which the streams of an outdated deployment end. */
  outdatedMs: 30_000,
};

/**
 * Returns when and why a stream ends after it lost its bus with this code; undefined if it stays
 * open.
 */
export function retiringOf(code: string | undefined, now: number): Retiring | undefined {
  if (code !== 'bus-outdated') return undefined;
  return { at: now + Math.random() * BUS_ENDS.outdatedMs, why: Retirement.Outdated };
}
