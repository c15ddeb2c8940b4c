import { isObject } from '../json.js';

/**
 * Why a server refuses or ends a subscription to events.
 *
 * `invalid-params`: the request is malformed. `not-found`: there is no such event or subscription.
 * `forbidden`: the caller may not have it. `resource-exhausted`: a limit is reached. `unsupported`:
 * the server lacks the requested mode or feature. `callback-endpoint-error`: the callback URL could
 * not be verified. `internal-error`: the server failed. `unknown`: any other code.
 */
export type EventErrorCode =
  | 'invalid-params'
  | 'not-found'
  | 'forbidden'
  | 'resource-exhausted'
  | 'unsupported'
  | 'callback-endpoint-error'
  | 'internal-error'
  | 'unknown';

/** An error of a server about a subscription to events. */
export interface EventError {
  /** What the error means. Servers use two sets of numbers; this code is the same for both. */
  code: EventErrorCode;
  /** The JSON-RPC error code that the server sent. */
  rpcCode: number;
  /** The server's text: do not trust it. */
  message: string;
  /** Details from the server, such as `reason`, `kind`, `limit` or `feature`. */
  data?: unknown;
}

/** Returns a parsed JSON value as an error; undefined if it has no code. */
export function eventErrorOf(value: unknown): EventError | undefined {
  if (!isObject(value)) return undefined;
  const { code: rpcCode, data, message } = value;
  if (typeof rpcCode !== 'number' || !Number.isInteger(rpcCode)) return undefined;
  return {
    code: CODES.get(rpcCode) ?? 'unknown',
    rpcCode,
    message: typeof message === 'string' ? message : '',
    ...(data !== undefined && { data }),
  };
}

/**
 * The numbers of SEP-3415 and, from -32011 to -32015, those of its design sketch, which deployed
 * servers and clients use.
 */
const CODES: ReadonlyMap<number, EventErrorCode> = new Map([
  [-32_602, 'invalid-params'],
  [-32_603, 'internal-error'],
  [-32_023, 'not-found'],
  [-32_011, 'not-found'],
  [-32_024, 'forbidden'],
  [-32_012, 'forbidden'],
  [-32_025, 'resource-exhausted'],
  [-32_013, 'resource-exhausted'],
  [-32_026, 'unsupported'],
  [-32_014, 'unsupported'],
  [-32_027, 'callback-endpoint-error'],
  [-32_015, 'callback-endpoint-error'],
]);
