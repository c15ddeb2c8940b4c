/** What Cloudflare bills, summed over all objects of a run. */
export interface Counts {
  /** HTTP requests to objects, all of which are upgrades. */
  upgrades: number;
  /** RPC calls of objects. */
  calls: number;
  /** Incoming WebSocket messages. */
  messages: number;
  /** Alarms that fired. */
  alarms: number;
  rowsRead: number;
  /** Rows that SQL has written, and one for each setting of an alarm. */
  rowsWritten: number;
  /** Milliseconds that handlers ran. */
  runMs: number;
  /** Milliseconds of all timers that fired. */
  timerMs: number;
  /** Times that an object was awake to wait for its disk, or for the reply of another object. */
  waits: number;
}

/** The counts of a run in which nothing happened. */
export const NO_COUNTS: Counts = {
  upgrades: 0,
  calls: 0,
  messages: 0,
  alarms: 0,
  rowsRead: 0,
  rowsWritten: 0,
  runMs: 0,
  timerMs: 0,
  waits: 0,
};

/** Returns the difference of two readings, divided by the number of turns between them. */
export function each(before: Counts, after: Counts, times: number): Counts {
  return mapped(after, (count, key) => Number(((count - before[key]) / times).toPrecision(4)));
}

/** Applies `change` to each count. */
export function mapped(
  counts: Counts,
  change: (count: number, key: keyof Counts) => number,
): Counts {
  const entries = Object.entries(counts) as [keyof Counts, number][];
  return Object.fromEntries(
    entries.map(([key, count]) => [key, change(count, key)]),
  ) as unknown as Counts;
}

/** Returns the sum of all. */
export function sum(...all: Counts[]): Counts {
  const [first, ...others] = all as [Counts, ...Counts[]];
  return mapped(first, (count, key) => others.reduce((total, other) => total + other[key], count));
}
