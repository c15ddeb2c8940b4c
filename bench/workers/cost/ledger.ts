import type { Counts } from '../../cost/counts.ts';

/** The counts of this isolate. */
export const counts: Counts = {
  upgrades: 0,
  calls: 0,
  messages: 0,
  alarms: 0,
  rowsRead: 0,
  rowsWritten: 0,
  handlerMs: 0,
  timerMs: 0,
};

/** Returns the counts as they are now. */
export function countsNow(): Counts {
  for (const cursor of cursors.splice(0)) {
    counts.rowsRead += cursor.rowsRead;
    counts.rowsWritten += cursor.rowsWritten;
  }
  return counts;
}

/** Counts the rows and alarms of all objects of this isolate from the first call on. */
export function countStorage(storage: DurableObjectStorage): void {
  if (isCounting) return;
  isCounting = true;
  const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = sql;
  sql.exec = function <T extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]) {
    const cursor = exec.call(this, query, ...bindings) as SqlStorageCursor<T>;
    cursors.push(cursor);
    return cursor;
  };
  const objects = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm } = objects;
  objects.setAlarm = function (this: DurableObjectStorage, ...args: Parameters<typeof setAlarm>) {
    counts.rowsWritten += 1;
    return setAlarm.apply(this, args);
  };
}

/** Counts for how long the timers of this isolate are armed. */
export function countTimers(): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const armed = new Map<unknown, number>();
  const end = (timer: unknown): void => {
    const since = armed.get(timer);
    if (since !== undefined) counts.timerMs += performance.now() - since;
    armed.delete(timer);
  };
  globalThis.setTimeout = ((run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = set(() => {
      end(timer);
      run(...args);
    }, ms);
    armed.set(timer, performance.now());
    return timer;
  }) as typeof setTimeout;
  globalThis.clearTimeout = ((timer: number | null) => {
    end(timer);
    clear(timer);
  }) as typeof clearTimeout;
}

let isCounting = false;
/** A cursor knows how many rows it has read when it was read to its end: counted later. */
const cursors: Array<{ rowsRead: number; rowsWritten: number }> = [];
