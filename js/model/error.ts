/** What went wrong; the values are stable, the messages are not. */
export type ListenErrorCode =
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
  | 'core-trapped'
  | 'discover-failed'
  | 'invalid-audience'
  | 'invalid-filter'
  | 'invalid-options'
  | 'invalid-principal'
  | 'invalid-task'
  | 'invalid-uri'
  | 'malformed-event'
  | 'not-loaded'
  | 'unknown-event-kind'
  | 'upstream-lost'
  | 'upstream-redirected'
  | 'upstream-timeout'
  | 'upstream-too-large'
  | 'upstream-unreachable';

/** Whether a bus that fails so is to be asked again later than others. */
export function isBusy(code: string | undefined): boolean {
  return code === 'bus-overloaded' || code === 'bus-full' || code === 'bus-outdated';
}

/** Every error that this package throws or reports. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** A stable, kebab-case name of what went wrong. */
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An error of the core, which carries its `code`, as a {@link ListenError}. */
export function fromCore(error: unknown): ListenError {
  if (error instanceof ListenError) return error;
  const { code, message } = error as { code: ListenErrorCode; message: string };
  return new ListenError(code, message, { cause: error });
}

/** Runs `action` of the core; what it throws becomes a {@link ListenError}. */
export function calling<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw fromCore(error);
  }
}
