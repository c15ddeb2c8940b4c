import { expectAmounts } from './amount.js';

/**
 * Upper bounds in counts and bytes. Each is the largest value that is accepted, so 0 accepts none.
 * Where the official SDK has such a limit, the name is the SDK's: `maxSubscriptions`,
 * `maxRequestBodySize`, and those derived from them. All others are named after what they limit. A
 * value that is negative or not a number, and an unknown name, is `invalid-options`.
 */
export interface ListenLimits {
  /**
   * Bytes of the body of a listen request. A larger body gets 413. 0 accepts only empty bodies, so
   * no listen.
   *
   * @default 65_536
   */
  maxRequestBodySize?: number;
  /**
   * Bytes of the URL and the header fields of a listen request, if the stream keeps them to call
   * `principal` or `authorize` again. A larger request gets 431. 0 accepts no such request.
   *
   * @default 16_384
   */
  headerBytes?: number;
  /**
   * Nesting depth of arrays and objects in the body of a listen request. A deeper body gets 400,
   * -32700. 0 accepts none, so no listen.
   *
   * @default 64
   */
  depth?: number;
  /**
   * Bytes of a request id, as JSON. A longer one gets 400, -32600. 0 accepts no id, so no listen.
   *
   * @default 256
   */
  idBytes?: number;
  /**
   * Number of different resource URIs in one filter. More get 400, -32602 with `data.limit`. 0
   * accepts no URI.
   *
   * @default 256
   */
  uris?: number;
  /**
   * Bytes of one resource URI. A longer one gets 400, -32602 with `data.limit`. 0 accepts no URI.
   *
   * @default 2_048
   */
  uriBytes?: number;
  /**
   * Number of different task ids in one filter. More get 400, -32602 with `data.limit`. 0 accepts
   * no task id.
   *
   * @default 256
   */
  taskIds?: number;
  /**
   * Bytes of one task id. A longer one gets 400, -32602 with `data.limit`. 0 accepts no task id.
   *
   * @default 2_048
   */
  taskIdBytes?: number;
  /**
   * Number of streams that this handler holds at the same time. Further ones get 503 with
   * `Retry-After`. 0 refuses all streams.
   *
   * @default 4_000
   */
  maxSubscriptions?: number;
  /**
   * Number of streams that this handler holds at the same time for one caller that `principal`
   * named. Further ones get 429 with `Retry-After`. 0 refuses all callers with a name. Streams of
   * events have a separate limit.
   *
   * @default 16
   */
  maxSubscriptionsPerPrincipal?: number;
  /**
   * Number of streams that this handler holds at the same time for callers without a name from one
   * address. Further ones get 429 with `Retry-After`. 0 refuses all of them. Only Cloudflare
   * provides addresses; elsewhere set `clientAddress`. IPv6 addresses count by their first 64 bits;
   * those of one /48 may together have a quarter of `maxSubscriptions`, or this limit if it is
   * higher. If many callers share an address, raise the limit or name callers with `principal`. An
   * address has a quarter of the limit, but 4 to 64, polls of events at a time.
   *
   * @default 256
   */
  maxSubscriptionsPerAddress?: number;
  /**
   * Bytes of the names of all streams that this handler holds: each URI and task of a stream, and
   * each group and principal of its caller, counts its bytes plus 64. Every stream may use 4,096
   * bytes, or its share of half of the limit if that is less. One caller, identified by name or
   * address, gets at most an eighth of the limit, and 429 above that. Above the whole limit,
   * streams get 503. 0 accepts only streams without names.
   *
   * @default 16_777_216
   */
  namesBytes?: number;
  /**
   * Number of sessions of clients of earlier revisions that exist at the same time. Further ones
   * get 503. With a `principal`, callers without a name may hold half of them, and half of
   * `busUriBytes`. 0 refuses all sessions.
   *
   * @default 10_000
   */
  sessions?: number;
  /**
   * Number of sessions of one caller that `principal` named, or of one network address if the
   * caller has no name and the host provides the address. A caller that begins one more loses its
   * least recently used session, if possible one without a stream. 0 refuses all sessions of these
   * callers.
   *
   * @default 16
   */
  sessionsPerPrincipal?: number;
  /**
   * Bytes of the URIs that one session watches, plus 64 for each URI. More get -32602 with
   * `data.limit`. 0 accepts no URI.
   *
   * @default 65_536
   */
  sessionUriBytes?: number;
  /**
   * Bytes of the URIs that all sessions of a bus watch, plus 64 for each URI. More get -32602 with
   * `data.limit`. 0 accepts no URI.
   *
   * @default 16_777_216
   */
  busUriBytes?: number;
  /**
   * Bytes that are read of a response to `server/discover`, to `initialize` or to a request of a
   * gateway. If a response is longer, the request gets 502, a listen 503. 0 accepts only empty
   * responses.
   *
   * @default 1_048_576
   */
  responseBytes?: number;
}

/** The defaults of {@link ListenLimits}. */
export const DEFAULT_LIMITS: Required<ListenLimits> = {
  maxRequestBodySize: 65_536,
  headerBytes: 16_384,
  depth: 64,
  idBytes: 256,
  uris: 256,
  uriBytes: 2_048,
  taskIds: 256,
  taskIdBytes: 2_048,
  maxSubscriptions: 4_000,
  maxSubscriptionsPerPrincipal: 16,
  maxSubscriptionsPerAddress: 256,
  namesBytes: 16_777_216,
  sessions: 10_000,
  sessionsPerPrincipal: 16,
  sessionUriBytes: 65_536,
  busUriBytes: 16_777_216,
  responseBytes: 1_048_576,
};

/**
 * Returns the limits, with the default for each undefined member.
 *
 * @throws ListenError `invalid-options`.
 */
export function limitsOf(limits: ListenLimits = {}): Required<ListenLimits> {
  return withDefaults('limits', DEFAULT_LIMITS, limits);
}

/**
 * Returns `given`, with the default for each undefined member.
 *
 * @throws ListenError `invalid-options` for a member without a default, or a value that is not a
 *   number from 0.
 */
export function withDefaults<Amounts extends object>(
  path: string,
  defaults: Required<Amounts>,
  given: Amounts,
): Required<Amounts> {
  expectAmounts(path, given, Object.keys(defaults));
  const others = Object.fromEntries(
    Object.entries(given).filter(([, amount]) => amount !== undefined),
  );
  return { ...defaults, ...others };
}

/**
 * Returns the limits on one listen request as JSON text for the core, which has its own name for
 * `maxRequestBodySize`.
 */
export function coreLimits({ maxRequestBodySize, ...others }: Required<ListenLimits>): string {
  return JSON.stringify({ ...others, bodyBytes: maxRequestBodySize });
}
