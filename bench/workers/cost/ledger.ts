import type { Counts } from '../../cost/counts.ts';

/** The counts of the objects of this isolate. */
export const counts: Counts = {
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

/** Returns the counts as they are now. */
export function countsNow(): Counts {
  for (const cursor of cursors.splice(0)) {
    counts.rowsRead += cursor.rowsRead;
    counts.rowsWritten += cursor.rowsWritten;
  }
  return counts;
}

/**
 * Runs what an object does in one turn: the time that it takes, and that it waits for its disk
 * where it has written.
 */
export function running<T>(run: () => T): T {
  if (isRunning) return run();
  isRunning = true;
  hasWritten = false;
  const started = performance.now();
  try {
    return run();
  } finally {
    counts.runMs += performance.now() - started;
    if (hasWritten) counts.waits += 1;
    isRunning = false;
  }
}

/** Counts the rows and alarms of all objects of this isolate from the first call on. */
export function countStorage(storage: DurableObjectStorage): void {
  if (isCounting) return;
  isCounting = true;
  const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = sql;
  sql.exec = function <T extends Record<string, SqlStorageValue>>(
    query: string,
    ...bindings: unknown[]
  ) {
    const cursor = exec.call(this, query, ...bindings) as SqlStorageCursor<T>;
    cursors.push(cursor);
    hasWritten ||= cursor.rowsWritten > 0;
    return cursor;
  };
  const objects = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm } = objects;
  objects.setAlarm = function (this: DurableObjectStorage, ...args: Parameters<typeof setAlarm>) {
    counts.rowsWritten += 1;
    hasWritten = true;
    return setAlarm.apply(this, args);
  };
}

/**
 * Counts the timers of the objects of this isolate. One that fires has kept its object awake for as
 * long as it was set. One that is cleared is the deadline of a call to another object, for whose
 * answer its object waited.
 */
export function countTimers(): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const armed = new Set<unknown>();
  globalThis.setTimeout = ((run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const timer = set(() => {
      armed.delete(timer);
      counts.timerMs += ms;
      running(() => run(...args));
    }, ms);
    armed.add(timer);
    return timer;
  }) as typeof setTimeout;
  globalThis.clearTimeout = ((timer: number | null) => {
    if (armed.delete(timer)) counts.waits += 1;
    clear(timer);
  }) as typeof clearTimeout;
}

let isCounting = false;
let isRunning = false;
let hasWritten = false;
/** A cursor knows how many rows it has read when it was read to its end: counted later. */
const cursors: { rowsRead: number; rowsWritten: number }[] = [];
