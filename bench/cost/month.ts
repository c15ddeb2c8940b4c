import type { Counts } from './counts.ts';
import { mapped, sum } from './counts.ts';
import type { Counted } from './example.ts';
import { SCALE, SHARDS } from './example.ts';

/** The load of a month. */
export interface Month {
  /** Streams that are open at any time. */
  streams: number;
  /** Minutes for which a stream is open. */
  ageMinutes: number;
  /** Changes of a resource that all streams watch. */
  changes: number;
  /** The share of the month without changes, in which objects hibernate until a stream opens. */
  quiet: number;
}

/** Dollars for a month. */
export interface Bill {
  listens: number;
  requests: number;
  duration: number;
  rows: number;
  together: number;
}

/** The month of docs/cost.md. */
export const EXAMPLE: Month = {
  streams: 10_000,
  ageMinutes: 24 * 60,
  changes: 30 * 8 * 3_600,
  quiet: 2 / 3,
};

/** The counts of a month, computed from those of one stream and one change. */
export function monthOf(
  { change, ownChange, sockets, turnover, waking }: Counted,
  month: Month,
): Counts {
  const opens = opensOf(month);
  const wakes =
    opens * month.quiet * Math.exp(-AWAKE_SECONDS * (opens / SECONDS / OBJECTS[sockets]));
  const fullChange = sum(ownChange, larger(less(change, ownChange)));
  return sum(
    times(turnover, opens),
    times(fullChange, month.changes),
    times(larger(less(waking, ownChange)), wakes),
  );
}

/** The counts of a month of occurrences, computed from those of one. */
export function monthOfEvents(counts: Counts, { changes }: Month): Counts {
  return times(counts, changes);
}

/** Dollars for these counts, with `waitMs` for each wait. */
export function billOf(counts: Counts, month: Month, waitMs = WAIT_MS): Bill {
  const { alarms, calls, messages, rowsRead, rowsWritten, upgrades } = counts;
  const asked = upgrades + calls + alarms + messages / MESSAGES_A_REQUEST;
  const bill = {
    listens: dollars(opensOf(month), 10_000_000, 0.3),
    requests: dollars(asked, 1_000_000, 0.15),
    duration: dollars(gigabyteSeconds(awakeMs(counts, waitMs)), 400_000, 12.5),
    rows: dollars(rowsWritten, 50_000_000, 1) + dollars(rowsRead, 25_000_000_000, 0.001),
  };
  return { ...bill, together: Object.values(bill).reduce((total, each) => total + each, 0) };
}

/** Streams that open in a month. */
export function opensOf({ ageMinutes, streams }: Month): number {
  return (streams * SECONDS) / (ageMinutes * 60);
}

/** Dollars for a number of objects that never hibernate. */
export function aroundTheClock(objects: number): number {
  return dollars(gigabyteSeconds(objects * SECONDS * 1_000), 400_000, 12.5);
}

/** Milliseconds that objects are awake. */
export function awakeMs({ runMs, timerMs, waits }: Counts, waitMs = WAIT_MS): number {
  return runMs + timerMs + waits * waitMs;
}

/** GB-seconds of an object with 128 MB. */
export function gigabyteSeconds(ms: number): number {
  return (ms / 1_000) * 0.128;
}

function dollars(count: number, included: number, perMillion: number): number {
  return (Math.max(count - included, 0) / 1_000_000) * perMillion;
}

function times(counts: Counts, factor: number): Counts {
  return mapped(counts, (count) => count * factor);
}

function less(counts: Counts, others: Counts): Counts {
  return mapped(counts, (count, key) => Math.max(count - others[key], 0));
}

/** Scales what grows with the streams of an object to full size; calls and timers do not. */
function larger(counts: Counts): Counts {
  return { ...counts, runMs: counts.runMs * SCALE, rowsRead: counts.rowsRead * SCALE };
}

/** Idle seconds after which an object hibernates. */
const AWAKE_SECONDS = 10;
/** Objects among which streams are spread. */
const OBJECTS = { auto: 1, each: SHARDS };
/** A month of 30 days. */
const SECONDS = 30 * 24 * 3_600;
const MESSAGES_A_REQUEST = 20;
/**
 * Milliseconds that an object waits for its disk or for another object on Cloudflare: an
 * assumption, not measured.
 */
export const WAIT_MS = 10;
/** Other assumptions, for which docs/cost.md has the month too. */
export const OTHER_WAITS_MS = [5, 50];
