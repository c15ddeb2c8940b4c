/** What Cloudflare charges for, counted over all objects of a run. */
export interface Counts {
  /** HTTP requests to objects: all of them are upgrades. */
  upgrades: number;
  /** RPC calls of objects. */
  calls: number;
  /** Incoming WebSocket messages. */
  messages: number;
  /** Alarms that rang. */
  alarms: number;
  rowsRead: number;
  /** Rows that SQL has written, and one for each alarm that was set. */
  rowsWritten: number;
  /** Milliseconds in which handlers ran. */
  runMs: number;
  /** Milliseconds for which timers were set that fired. */
  timerMs: number;
  /** Times that an object was awake to wait for its disk, or for another object to answer. */
  waits: number;
}

/** Returns what was counted between two readings, divided by how often it was done. */
export function each(before: Counts, after: Counts, times: number): Counts {
  return mapped(after, (count, key) => Number(((count - before[key]) / times).toPrecision(4)));
}

/** Returns each count as `change` makes it. */
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
