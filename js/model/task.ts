/**
 * The whole state of one task, as a result of `tasks/get` (Tasks extension, SEP-2663:
 * DetailedTask). Clients receive every member except `_meta` and `resultType`, which belong to a
 * result.
 */
export type TaskState = TaskProgress & TaskOutcome;

/** The members of a task's state that do not depend on its status. */
export interface TaskProgress {
  /** Task id: an opaque, non-empty string of at most 2,048 bytes without control characters. */
  taskId: string;
  /** Describes the status, for people or models. */
  statusMessage?: string;
  /** ISO 8601. */
  createdAt: string;
  /** ISO 8601. */
  lastUpdatedAt: string;
  /** Milliseconds from its creation for which the task is kept; `null`: unlimited. */
  ttlMs: number | null;
  /** Suggested milliseconds between polls. */
  pollIntervalMs?: number;
}

/** The status of a task, and the data that belongs to it. */
export type TaskOutcome =
  | { status: 'working' | 'cancelled' }
  | {
      status: 'input_required';
      /** The requests for input, by key. */
      inputRequests: object;
    }
  | {
      status: 'completed';
      /** The result of the request. */
      result: object;
    }
  | {
      status: 'failed';
      /** The JSON-RPC error. */
      error: object;
    };
