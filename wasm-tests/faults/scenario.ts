import type { Spread } from './judgement/heal.ts';
import type { ScenarioStreams, Stage } from './stage.ts';
import type { Holding, WorldOptions } from './world.ts';

/** One fault, with its streams and what it may cause. */
export interface Scenario extends ScenarioStreams {
  name: string;
  /** The promises that it tests. */
  promise: string;
  world?: WorldOptions;
  /** Streams that the fault may end. Default: none. */
  ends?: Allowance;
  /** Requests for streams that may be refused with 503. Default: none. */
  refusals?: Allowance;
  /** Why publishes may be refused during the fault. Default: none may be. */
  losesPublishes?: string;
  /** Milliseconds by which a documented ceiling exceeds the times of P1. Default: 0. */
  ceiling?: { ms: number; why: string };
  /** Whether the bus is busy all the time, so that it cannot hibernate. */
  isBusy?: boolean;
  /** Injects the fault, and ends it. */
  run(stage: Stage): Promise<void>;
}

/** An allowed number of what would be a violation otherwise. */
export interface Allowance {
  /** The maximum, for the number of streams of the scenario, those that `run` opens included. */
  most: (streams: number) => number;
  why: string;
}

/** The result of a scenario. */
export interface Result {
  name: string;
  promise: string;
  /** The option `sockets`, and the number of connections to the bus before the fault. */
  sockets: string;
  /** That number. */
  attached: number;
  /** Streams that were requested before the fault. */
  requested: number;
  /** Streams that the fault itself opened. */
  opens: number;
  /** Requested streams that were acknowledged. */
  streams: number;
  /** Streams that are open at the end. */
  open: number;
  /** Streams that ended without being dropped by their client. */
  ended: number;
  /** Requests for streams without the reply 200, by status; 0 stands for no reply. */
  refusals: Record<string, number>;
  /** Streams that opened and closed meanwhile. */
  passed: number;
  /** Events that the bus accepted. */
  taken: number;
  /** Events that were refused or got no reply. */
  refused: number;
  /** Publishes that were refused after the streams had healed. */
  refusedLater: number;
  /** Cues that did not arrive: pairs of an open stream and a key. */
  missing: number;
  /** Messages before an acknowledgment. */
  early: number;
  /** Messages outside the filter. */
  foreign: number;
  /** States of tasks out of order. */
  inversions: number;
  /** Milliseconds from the return of the bus to a cue of each key of each stream. */
  heal?: Spread;
  /** The same from the beginning of a publish before the fault. */
  calm?: Spread;
  /** The same from the beginning of a publish after the streams have healed. */
  healed?: Spread;
  /** Whether the scenario ran in the whole set. */
  isWhole: boolean;
  /** Milliseconds that a process waited for a processor meanwhile: the longest of all processes. */
  machineMs: number;
  /** The bounds of `heal`. */
  bound?: { median: number; p99: number };
  /** Whether the bus then hibernated with all streams open, and woke once to deliver. */
  hibernates?: boolean;
  /** What the processes hold after all clients have left. */
  left: Holding;
  seconds: number;
  /** The reasons of the allowances. */
  reasons: string[];
  note?: string;
  violations: string[];
}
