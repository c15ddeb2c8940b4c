import { record, recordIn, text } from './json.js';

/** Why a request had no result. */
export type EndpointErrorCode =
  | 'no-address'
  | 'unreachable'
  | 'unauthorized'
  | 'refused'
  | 'unreadable';

/** A request that had no result. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  readonly code: EndpointErrorCode;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;

  constructor(code: EndpointErrorCode, message: string, { status = 0, ...options }: Details = {}) {
    super(message, options);
    this.code = code;
    this.status = status;
  }

  /** Whether the response may come from a server of an earlier revision. */
  get mayBeOlder(): boolean {
    return this.status === 200 || [400, 404, 405, 406, 422].includes(this.status);
  }
}

/** Returns the error of a JSON-RPC error. */
export function refusal(error: unknown, status: number): EndpointError {
  const { code, message } = record(error) ?? {};
  const words = `${text(message) ?? 'Error without a message'} (${code})`;
  return new EndpointError('refused', words, { status });
}

/** Returns the error of a response with this status whose body is no JSON-RPC response. */
export function withoutResult(status: number): EndpointError {
  const denied = DENIED[status];
  if (denied !== undefined) return new EndpointError('unauthorized', denied, { status });
  const words = `The endpoint responded with ${status} and without a result.`;
  return new EndpointError('unreadable', words, { status });
}

/**
 * Returns the error for what the transport of the official client threw. It is recognized by its
 * name: the page loads that client later.
 *
 * @param status - that of the response to the request; undefined if there was none.
 */
export function endpointErrorOf(cause: unknown, status?: number): EndpointError {
  if (cause instanceof EndpointError) return cause;
  const { data, message = String(cause), name } = cause as Partial<Thrown>;
  if (name === 'UnauthorizedError') return withoutResult(401);
  if (name === 'SdkHttpError' && data !== undefined) return httpError(data);
  if (status !== undefined && status < 300) return withoutResult(status);
  return new EndpointError('unauthorized', `Signing in failed: ${message}`, { cause });
}

function httpError({ status, text: body }: NonNullable<Thrown['data']>): EndpointError {
  const error = DENIED[status] === undefined ? recordIn(body ?? '')?.['error'] : undefined;
  return error === undefined ? withoutResult(status) : refusal(error, status);
}

/** What the transport throws. */
interface Thrown extends Error {
  data?: { status: number; text?: string };
}

interface Details extends ErrorOptions {
  status?: number;
}

const DENIED: Partial<Record<number, string>> = {
  401: 'The token is missing or wrong (401). Enter one, or sign in.',
  403: 'The endpoint does not accept this page or this token (403).',
};
