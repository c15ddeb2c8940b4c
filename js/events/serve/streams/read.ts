/** The reading of a page for all streams of a group. */
export interface Read {
  /** Readings of one group are numbered in order. */
  number: number;
  /** When it began, by `performance.now`. */
  at: number;
  /** Whether something was cued since. */
  isCued: boolean;
  /** Resolves once the page was written, or could not be read. */
  isDone: Promise<void> | undefined;
}

/** Whether a page has been awaited for so long that another request has to read it. */
export function isLate({ at }: Read): boolean {
  return performance.now() - at > LATE_MS;
}

const LATE_MS = 1_000;
