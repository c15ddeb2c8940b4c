import { ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { finiteTimeout } from '../model/timeouts.js';
import { withTimeout } from '../timing/with-timeout.js';
import { Refusal } from '../wasm/server/bindings.js';
import { outageMsOf } from './outage.js';

/**
 * Decides which of the requested notifications a caller may receive. It is called before anything
 * is registered: for each listen request, and in sessions of earlier revisions for each
 * `resources/subscribe` and each GET of a stream.
 *
 * @example
 * ```ts
 * const authorize: Authorize = ({ principal, requested }) =>
 *   principal === undefined ? { toolsListChanged: true } : requested;
 * ```
 */
export type Authorize<Context = AuthorizeContext> = (
  context: Context,
) => Authorization | Promise<Authorization>;

/** The caller of a request. */
export interface CallerContext<Rest extends unknown[] = unknown[]> {
  /** The request; its body has been read. */
  request: Request;
  /**
   * The arguments that the host passed to `fetch` after the request, such as a Worker's `env` and
   * `ctx`. An open stream keeps these values, and passes the same ones on each later call.
   */
  args: Rest;
  /**
   * The name from the option `principal`; undefined without that option, or if the caller has no
   * name.
   */
  principal: string | undefined;
  /** When the caller's credentials expire, in milliseconds since 1970; undefined: never. */
  expiresAt?: number | undefined;
  /** The groups from the option `principal`; undefined: none. */
  groups?: string[] | undefined;
  /**
   * The `claims` that the option `principal` has just returned, or its `AuthInfo`; undefined: none.
   */
  claims?: unknown;
}

/** The caller of a request, and the notifications it requests. */
export interface AuthorizeContext<Rest extends unknown[] = unknown[]> extends CallerContext<Rest> {
  /** The requested notifications. */
  requested: SubscriptionFilter;
  /**
   * True if the stream of the request is already open and is authorized again; otherwise undefined.
   */
  isOpen?: true;
}

/**
 * The notifications that the caller may receive, or a denial. Only what is both requested and
 * allowed is honored. A `Response` with the status 401, 403 or 503 is a denial with its
 * `WWW-Authenticate` and `Retry-After`.
 */
export type Authorization = AllowedFilter | Denial | Response;

/** The notifications that a caller may receive. */
export interface AllowedFilter extends SubscriptionFilter {
  /**
   * The groups of the caller, which also receives events published for them.
   *
   * @default the groups from `principal`
   */
  groups?: string[];
}

/** Denies a caller any subscription. */
export interface Denial {
  /**
   * 401: the caller must authenticate. 403: the caller is not allowed. 503: this cannot be decided
   * now.
   */
  denied: 401 | 403 | 503;
  /**
   * The `Retry-After` header of a 503.
   *
   * @default a few seconds
   */
  retryAfter?: string;
  /** The `WWW-Authenticate` header of the response. */
  wwwAuthenticate?: string;
}

/** Why a request is not served. */
export interface Denied {
  refusal: Refusal;
  /** The `WWW-Authenticate` header of the response. */
  wwwAuthenticate?: string | undefined;
  /** The `Retry-After` header of the response. */
  retryAfter?: string | undefined;
  /**
   * Milliseconds for which the last result counts, because the upstream server of a gateway, which
   * decides this, cannot be asked now.
   */
  outageMs?: number;
}

/** The result of `authorize`. */
export interface Permit extends Partial<Denied> {
  /** The filter that the caller is allowed, as JSON text; undefined: everything. */
  filter?: string;
  /** The groups of the caller. */
  groups?: string[] | undefined;
}

/** The function to call, its timeout in milliseconds, and the handler of its errors. */
export interface AuthorizeOptions<Context> {
  authorize: Authorize<Context> | undefined;
  ms: number;
  onError: (error: Error) => void;
}

/** Calls `authorize`, if there is one; its errors become a refusal. */
export async function runAuthorize<Context extends object>(
  { authorize, ms, onError }: AuthorizeOptions<Context>,
  context: Context,
): Promise<Permit> {
  const { groups: own } = context as Pick<Partial<CallerContext>, 'groups'>;
  if (authorize === undefined) return { groups: own };
  try {
    const authorization = await callAuthorize(authorize, context, ms);
    if ('denied' in authorization) return denial(authorization);
    const { groups = own } = authorization;
    return { filter: JSON.stringify({ ...authorization, groups }), groups };
  } catch (error) {
    onError(error as Error);
    return { refusal: Refusal.AuthorizerFailed, outageMs: outageMsOf(authorize, error) };
  }
}

/** Returns the refusal for a denial. */
export function denial({ denied, retryAfter, wwwAuthenticate }: Denial): Denied {
  return { refusal: REFUSALS[denied] ?? Refusal.Forbidden, wwwAuthenticate, retryAfter };
}

/**
 * Returns the denial in a result of the user's function `name`; undefined if it is not a denial.
 *
 * @throws ListenError `authorizer-failed` for a `Response` that is not a denial.
 */
export function denialOf(name: string, result: object): Denial | undefined {
  if (result instanceof Response) return denialOfResponse(name, result);
  return 'denied' in result ? (result as Denial) : undefined;
}

function denialOfResponse(name: string, { body, headers, status }: Response): Denial {
  // Only the header fields count.
  void body?.cancel().catch(() => {});
  if (status !== 401 && status !== 403 && status !== 503) {
    throw new ListenError(
      'authorizer-failed',
      `${name} returned a Response with status ${status}, which is not a denial`,
    );
  }
  const [wwwAuthenticate, retryAfter] = [
    headers.get('www-authenticate'),
    headers.get('retry-after'),
  ];
  return {
    denied: status,
    ...(wwwAuthenticate !== null && { wwwAuthenticate }),
    ...(retryAfter !== null && { retryAfter }),
  };
}

/**
 * Calls `authorize`, and waits at most `ms` milliseconds.
 *
 * @throws ListenError `authorizer-failed` or `authorizer-timeout`.
 */
async function callAuthorize<Context>(
  authorize: Authorize<Context>,
  context: Context,
  ms: number,
): Promise<AllowedFilter | Denial> {
  const result: unknown = await callUserFunction(ms, 'authorize', () => authorize(context));
  if (typeof result === 'object' && result !== null) return denialOf('authorize', result) ?? result;
  throw new ListenError('authorizer-failed', 'authorize returned neither a filter nor a denial');
}

/**
 * Calls the user's function `name`, and waits at most `ms` milliseconds.
 *
 * @throws ListenError `authorizer-failed` or `authorizer-timeout`.
 */
export async function callUserFunction<T>(
  ms: number,
  name: string,
  call: () => T | Promise<T>,
): Promise<T> {
  const timeout = (): Error => new ListenError('authorizer-timeout', `${name} took too long`);
  try {
    return await withTimeout(finiteTimeout(ms), call(), timeout);
  } catch (cause) {
    if (cause instanceof ListenError) throw cause;
    throw new ListenError('authorizer-failed', `${name} threw`, { cause });
  }
}

const REFUSALS: Partial<Record<number, Refusal>> = {
  401: Refusal.Unauthorized,
  503: Refusal.AuthorizerFailed,
};
