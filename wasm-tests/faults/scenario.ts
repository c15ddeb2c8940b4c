import type { Spread } from './judgement/heal.ts';
import type { Stage } from './stage.ts';
import type { Holding, WorldOptions } from './world.ts';

/** One fault, and how many streams live through it. */
export interface Scenario {
  name: string;
  /** Which promise it tries. */
  promise: string;
  /**
   * Streams that are open when it begins: in the whole set, and in the short one, where a scenario
   * without a number has no part.
   */
  streams: number;
  short?: number;
  world?: WorldOptions;
  /** Whether tasks are watched too: a state that has left the log cannot be told again. */
  hasTasks?: boolean;
  /** Streams that end by the fault itself; none without it. */
  ends?: Allowance;
  /** Requests for streams that may be refused; none without it. */
  refusals?: Allowance;
  /**
   * Why publishes are refused while the fault is there; none may be without it, and none after it
   * in any case.
   */
  losesPublishes?: string;
  /** Milliseconds by which a documented ceiling is beyond the times of P1; none without it. */
  ceiling?: { ms: number; why: string };
  /** Whether the bus has something to do all the time, and cannot hibernate. */
  isBusy?: boolean;
  /** Injects the fault, and takes it away again. */
  run(stage: Stage): Promise<void>;
}

/** What would be a violation without a reason. */
export interface Allowance {
  /** At most so many, of so many streams that were asked for at the beginning. */
  most: (streams: number) => number;
  why: string;
}

/** What became of it. */
export interface Result {
  name: string;
  promise: string;
  /** The option `sockets`, and how many sockets the bus had when all streams were open. */
  sockets: string;
  /** Streams that were asked for before the fault. */
  asked: number;
  /** Those of them that were acknowledged. */
  streams: number;
  /** Streams that are still open in the end. */
  open: number;
  /** Streams that ended and that no client dropped. */
  ended: number;
  /**
   * Requests for streams that were not answered with 200, by status; 0 where there was no answer.
   */
  refusals: Record<string, number>;
  /** Streams that came and went meanwhile. */
  passed: number;
  /** Events that the bus took, and those of which the publisher does not know. */
  taken: number;
  refused: number;
  /** Publishes that were refused after the fault was over and every stream had healed. */
  refusedLater: number;
  /** Cues that never came: pairs of an open stream and a key. */
  missing: number;
  /**
   * Messages before an acknowledgment, about what nobody asked for, and states of tasks out of
   * order.
   */
  early: number;
  foreign: number;
  inversions: number;
  /** Milliseconds from the return of the bus to a cue of each key of each stream. */
  heal?: Spread;
  /**
   * The same of a publish with no fault, in the same run: the greater of one before and one after.
   */
  calm?: Spread;
  /**
   * Milliseconds for which the process that waited longest for a processor could not run meanwhile.
   */
  machineMs: number;
  /** Median and p99 of `heal` that it was held to. */
  bound?: { median: number; p99: number };
  /** Whether the bus hibernated afterwards with all the streams open, and woke once to deliver. */
  hibernates?: boolean;
  /** What is left when all clients have gone. */
  left: Holding;
  seconds: number;
  /** Why what would be a violation elsewhere is none here. */
  reasons: string[];
  note?: string;
  /** What of all this should be otherwise. */
  violations: string[];
}
