/**
 * The whole state of one task, as `tasks/get` would tell it (Tasks extension, SEP-2663: DetailedTask).
 * Every member reaches the client, but `_meta` and `resultType`, which belong to an answer.
 */
export type TaskState = TaskProgress & TaskOutcome;

/** What the state of a task has whatever its status. */
export interface TaskProgress {
  /** Which task: an opaque, non-empty string of at most 2,048 bytes without control characters. */
  taskId: string;
  /** Says more about the status, to people or models. */
  statusMessage?: string;
  /** ISO 8601. */
  createdAt: string;
  /** ISO 8601. */
  lastUpdatedAt: string;
  /** Milliseconds that the task is kept from its creation; `null`: without end. */
  ttlMs: number | null;
  /** Milliseconds between polls, as suggested to clients. */
  pollIntervalMs?: number;
}

/** The status of a task, and what comes with it. */
export type TaskOutcome =
  | { status: 'working' | 'cancelled' }
  | { status: 'input_required'; inputRequests: object }
  | { status: 'completed'; result: object }
  | { status: 'failed'; error: object };
