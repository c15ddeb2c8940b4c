import type { Fanout } from '../../wasm/server/bindings.js';

/** The bus of a fan-out that follows one. */
export interface UpstreamState {
  /** The counts of outages, recoveries, gaps and resyncs. */
  counts: number[];
  isAway: boolean;
  /** Whether everything that was published before `Fanout.settle` has been received. */
  isSettled: boolean;
  /** Whether what was received last confirms or refuses streams that wait for the bus. */
  hasConfirmations: boolean;
  deadline: number | undefined;
}

/** Reads the state of the bus from the core. */
export function upstreamStateOf(core: Fanout): UpstreamState {
  const [outages = 0, healed = 0, gaps = 0, resyncs = 0, away, settled, confirms, deadline] =
    core.busState();
  return {
    counts: [outages, healed, gaps, resyncs],
    isAway: away === 1,
    isSettled: settled === 1,
    hasConfirmations: confirms === 1,
    deadline,
  };
}
