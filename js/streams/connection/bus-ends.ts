import type { Retiring } from '../../bus/server-stream.js';
import { Retirement } from '../../wasm/server/bindings.js';

/** Spans of streams that their bus ends; an object, so that tests can shorten them. */
export const BUS_ENDS = {
  /** Milliseconds over which the streams of an outdated deployment end. */
  outdatedMs: 30_000,
};

/** When and why a stream ends that lost its bus with this code; undefined: it stays open. */
export function retiringOf(code: string | undefined, now: number): Retiring | undefined {
  if (code !== 'bus-outdated') return undefined;
  return { at: now + Math.random() * BUS_ENDS.outdatedMs, why: Retirement.Outdated };
}
