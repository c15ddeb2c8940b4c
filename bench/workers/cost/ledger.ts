import { type Counts, NO_COUNTS } from '../../cost/counts.ts';

/** The counts of the objects of this isolate. */
export const counts: Counts = { ...NO_COUNTS };

/** Returns the current counts. */
export function countsNow(): Counts {
  for (const cursor of cursors.splice(0)) {
    counts.rowsRead += cursor.rowsRead;
    counts.rowsWritten += cursor.rowsWritten;
  }
  return counts;
}

/** Runs one turn of an object, and counts its time, and a wait for the disk if it has written. */
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

/** Counts the rows and alarms of all objects of this isolate; further calls do nothing. */
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
 * Counts the timers of the objects of this isolate. A timer that fires kept its object awake. A
 * timer that is cleared was the deadline of a call to another object, for which its object waited.
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
/** Cursors that are not counted yet: a cursor has its row counts once it was read to its end. */
const cursors: { rowsRead: number; rowsWritten: number }[] = [];
