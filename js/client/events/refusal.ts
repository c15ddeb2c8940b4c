import { ListenError } from '../../model/error.js';
import type { EventError } from '../../model/events/event-error.js';
import {
  METHOD_NOT_FOUND,
  type RefusalDetails,
  SubscriptionRefused,
} from '../../model/subscription-error.js';
import { MAX_WAIT_MS } from './delay.js';

/** The server refused a request about events, or ended the subscription. */
export class EventsRefused extends SubscriptionRefused {
  /** The error that the server sent, if it sent one. */
  readonly reason: EventError | undefined;

  constructor(refusal: RefusalDetails, reason?: EventError) {
    const rpcCode = reason?.rpcCode;
    super(
      reason?.message || `the server refused the request with ${refusal.status}`,
      { ...refusal, ...(rpcCode !== undefined && { rpcCode }) },
      rpcCode === METHOD_NOT_FOUND ? 'not-supported' : 'refused',
    );
    this.reason = reason;
  }
}

/** Returns how a response refuses a request; `reason` is the error in its body. */
export function refusalOf({ headers, status }: Response, reason?: EventError): EventsRefused {
  const seconds = /^\d+$/.exec(headers.get('retry-after') ?? '')?.[0];
  const retryAfterMs = Math.min(Number(seconds) * 1_000, MAX_WAIT_MS);
  return new EventsRefused({ status, ...(seconds !== undefined && { retryAfterMs }) }, reason);
}

/** Returns whether the same request would fail again after any wait. */
export function isFinal(error: ListenError): boolean {
  if (error.code === 'redirected' || error.code === 'not-supported') return true;
  if (!(error instanceof EventsRefused)) return false;
  const { reason, status } = error;
  if (status === 401 || status === 403) return true;
  return reason !== undefined && (FINAL.has(reason.code) || JUDGMENTS.has(reason.rpcCode));
}

/** Returns an error for an event that the client cannot have in the requested mode. */
export function notSupported(message: string): ListenError {
  return new ListenError('not-supported', message);
}

const FINAL: ReadonlySet<string> = new Set([
  'invalid-params',
  'not-found',
  'forbidden',
  'unsupported',
]);
/** Codes that blame the request itself: its shape, header fields, capabilities or version. */
const JUDGMENTS: ReadonlySet<number> = new Set([-32_600, -32_020, -32_021, -32_022]);
