/** What went wrong, in servers, buses and clients. The codes are stable, the messages are not. */
export type ListenErrorCode =
  | 'ack-timeout'
  | 'response-too-large'
  | 'attach-timeout'
  | 'authorizer-failed'
  | 'authorizer-timeout'
  | 'body-consumed'
  | 'body-timeout'
  | 'bus-frame-dropped'
  | 'bus-full'
  | 'bus-lost'
  | 'bus-outdated'
  | 'bus-overloaded'
  | 'bus-released'
  | 'bus-unavailable'
  | 'cancelled'
  | 'core-trapped'
  | 'disconnected'
  | 'discover-failed'
  | 'event-failed'
  | 'event-too-large'
  | 'events-unavailable'
  | 'handler-failed'
  | 'internal-error'
  | 'invalid-response'
  | 'invalid-event-data'
  | 'invalid-event-id'
  | 'invalid-event-name'
  | 'invalid-filter'
  | 'invalid-group'
  | 'invalid-options'
  | 'invalid-order'
  | 'invalid-principal'
  | 'invalid-task'
  | 'invalid-timestamp'
  | 'invalid-uri'
  | 'line-too-long'
  | 'malformed-acknowledgment'
  | 'malformed-event'
  | 'malformed-message'
  | 'not-loaded'
  | 'not-supported'
  | 'redirected'
  | 'refused'
  | 'secret-unreadable'
  | 'silence'
  | 'too-many-event-names'
  | 'unknown-event-kind'
  | 'upstream-lost'
  | 'upstream-redirected'
  | 'upstream-timeout'
  | 'upstream-too-large'
  | 'upstream-unreachable'
  | 'wanted-failed';

/** Returns whether an attempt after the error `code` should wait longer than after other errors. */
export function isBusy(code: string | undefined): boolean {
  return code === 'bus-overloaded' || code === 'bus-full' || code === 'bus-outdated';
}

/**
 * Every error that this package throws or reports. Errors of clients have subclasses.
 *
 * @example
 * ```ts
 * try {
 *   await server.notify.resourceUpdated(uri);
 * } catch (error) {
 *   if (error instanceof ListenError && error.code === 'invalid-uri') return false;
 *   throw error;
 * }
 * ```
 */
export class ListenError extends Error {
  /** The name of the class. */
  override readonly name: string = 'ListenError';
  /** A stable, kebab-case error code. */
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns an error of the core, which has a `code`, as a {@link ListenError}. */
export function fromCore(error: unknown): ListenError {
  if (error instanceof ListenError) return error;
  const { code, message } = error as { code: ListenErrorCode; message: string };
  return new ListenError(code, message, { cause: error });
}

/** Calls into the core, and converts an error of the core to a {@link ListenError}. */
export function calling<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw fromCore(error);
  }
}
