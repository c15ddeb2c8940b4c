/** What went wrong; the values are stable, the messages are not. */
export type ListenErrorCode =
  | 'ack-timeout'
  | 'answer-too-large'
  | 'cancelled'
  | 'core-trapped'
  | 'disconnected'
  | 'event-too-large'
  | 'handler-failed'
  | 'invalid-answer'
  | 'invalid-filter'
  | 'invalid-options'
  | 'line-too-long'
  | 'malformed-acknowledgment'
  | 'not-loaded'
  | 'not-supported'
  | 'redirected'
  | 'refused'
  | 'silence';

/** Every error that a client throws or reports. */
export class ListenError extends Error {
  /** A stable, kebab-case name of what went wrong. */
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The subscription broke off: changes may have been missed. `code` says why. */
export class SubscriptionLost extends ListenError {}

/** The acknowledgment did not come in time. */
export class AckTimeout extends ListenError {
  constructor() {
    super('ack-timeout', 'the subscription was not acknowledged in time');
  }
}

/** How a server refused a subscription. */
export interface Refusal {
  /** The HTTP status; 0 where none carried it. */
  status: number;
  /** The JSON-RPC error code, where the answer has one. */
  rpcCode?: number;
  /** Milliseconds that the server asks to wait before the next attempt. */
  retryAfterMs?: number;
}

/** The server refused the subscription; the message is in its own words and not to be trusted. */
export class ListenRejected extends ListenError implements Refusal {
  readonly status: number;
  readonly rpcCode?: number;
  readonly retryAfterMs?: number;

  constructor(message: string, refusal: Refusal, code: ListenErrorCode = 'refused') {
    super(code, message);
    this.status = refusal.status;
    if (refusal.rpcCode !== undefined) this.rpcCode = refusal.rpcCode;
    if (refusal.retryAfterMs !== undefined) this.retryAfterMs = refusal.retryAfterMs;
  }
}

/** The server has no subscriptions, nor a stream for sessions. */
export class ListenNotSupported extends ListenRejected {
  constructor(message: string, refusal: Refusal) {
    super(message, refusal, 'not-supported');
  }
}

/** How a subscription ended, as the core tells it. */
export interface CoreEnd extends Partial<Refusal> {
  code: string;
  text?: string;
}

/** The error that an end comes to; undefined: a graceful one. */
export function errorOf(end: CoreEnd, cause?: unknown): ListenError | undefined {
  if (end.code === 'graceful') return undefined;
  if (end.code === 'not-acknowledged') return new AckTimeout();
  if (end.code !== 'refused')
    return new SubscriptionLost(end.code as ListenErrorCode, `the subscription is lost: ${end.code}`, { cause });
  const refusal = { ...end, status: end.status ?? 0 };
  const message = end.text || `the server refused the subscription with ${refusal.status}`;
  return end.rpcCode === METHOD_NOT_FOUND
    ? new ListenNotSupported(message, refusal)
    : new ListenRejected(message, refusal);
}

/** Runs `action` of the core; what that refuses becomes a {@link ListenError}. */
export function calling<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ListenError) throw error;
    const { code, message } = error as { code: ListenErrorCode; message: string };
    throw new ListenError(code, message, { cause: error });
  }
}

const METHOD_NOT_FOUND = -32_601;
