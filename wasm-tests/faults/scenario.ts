import type { Stage } from './stage.ts';
import { type Holding, IDLE, type WorldOptions } from './world.ts';

/** One fault, and how many streams live through it. */
export interface Scenario {
  name: string;
  /** Which promise it tries. */
  promise: string;
  /** Streams that are open when it begins: in the whole set, and in the short one, where a scenario without a number has no part. */
  streams: number;
  short?: number;
  world?: WorldOptions;
  /** Whether tasks are watched too: a state that has left the log cannot be told again. */
  hasTasks?: boolean;
  /** Whether streams may end by it; their clients then come back. */
  hasEnds?: boolean;
  /** Whether the bus has something to do all the time, and cannot hibernate. */
  isBusy?: boolean;
  /** Injects the fault, and takes it away again. */
  run(stage: Stage): Promise<void>;
}

/** What became of it. */
export interface Result {
  name: string;
  promise: string;
  streams: number;
  /** Streams that are still open in the end. */
  open: number;
  /** Streams that came and went meanwhile. */
  passed: number;
  /** Events that the bus took, and those of which the publisher does not know. */
  taken: number;
  refused: number;
  /** Cues that never came: pairs of an open stream and a key. */
  missing: number;
  /** Messages before an acknowledgment, about what nobody asked for, and states of tasks out of order. */
  early: number;
  foreign: number;
  inversions: number;
  /** Milliseconds from the return of the bus to the first event that each stream hears. */
  heal?: { median: number; p99: number; max: number };
  /** Whether the bus hibernated afterwards with all the streams open, and woke once to deliver. */
  hibernates?: boolean;
  /** What is left when all clients have gone. */
  left: Holding;
  seconds: number;
  note?: string;
  /** What of all this should be otherwise. */
  violations: string[];
}

/** What a result must not say. */
export function violationsOf(scenario: Scenario, result: Omit<Result, 'violations'>): string[] {
  const { early, foreign, heal, hibernates, inversions, left, missing, open, streams } = result;
  const { descriptors, ...leaked } = left;
  const counts = { missing, early, foreign, inversions, ...leaked };
  const wrong = Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${what}: ${count}`]));
  if (!scenario.hasEnds && open < streams) wrong.push(`ended: ${streams - open}`);
  if (heal !== undefined && heal.p99 > WIDE_MS) wrong.push(`back after ${Math.round(heal.p99)} ms`);
  if (hibernates === false) wrong.push('does not hibernate');
  if (descriptors > IDLE) wrong.push(`descriptors: ${descriptors}`);
  return wrong;
}

/** No promise, which is a figure of a machine with nothing else to do: only what would be wrong on any. */
const WIDE_MS = 40_000;
