import { ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { patienceOf } from '../model/timeouts.js';
import { withTimeout } from '../timing/with-timeout.js';
import { Refusal } from '../wasm/server/bindings.js';

/**
 * Says what of a request a caller may hear. Called for each listen request, and in sessions of earlier revisions
 * for each `resources/subscribe` and each GET of a stream, before anything is registered.
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

/** Who asks. */
export interface CallerContext<Rest extends unknown[] = unknown[]> {
  /** The request; its body has been read. */
  request: Request;
  /**
   * What the host passed to `fetch` after the request, such as a Worker's `env` and `ctx`. An open
   * stream keeps these values, and passes the same ones each time it asks again.
   */
  args: Rest;
  /** Whom the option `principal` named; undefined where there is none, or it named nobody. */
  principal: string | undefined;
  /** When what names it expires, in milliseconds since 1970; undefined: never. */
  expiresAt?: number | undefined;
  /** The audiences that the option `principal` named; undefined: none. */
  audiences?: string[] | undefined;
  /**
   * The `claims` that the option `principal` returned just now, or the `AuthInfo`; undefined: none.
   */
  claims?: unknown;
}

/** Who asks for what. */
export interface AuthorizeContext<Rest extends unknown[] = unknown[]> extends CallerContext<Rest> {
  /** What is asked for. */
  requested: SubscriptionFilter;
  /** True where a stream of the request is open, and it is asked again; otherwise undefined. */
  isOpen?: true;
}

/**
 * What the caller may hear: only what is both requested and named here is honored. Or a denial; a
 * `Response` with the status 401, 403 or 503 is one with its `WWW-Authenticate` and `Retry-After`.
 */
export type Authorization = AllowedFilter | Denial | Response;

/** What a caller may hear. */
export interface AllowedFilter extends SubscriptionFilter {
  /** The audiences of the caller: it hears of what is published for these, too (default: those that `principal` named). */
  audiences?: string[];
}

/** A caller who may not listen at all. */
export interface Denial {
  /** 401: say who you are. 403: not you. 503: it cannot be decided now. */
  denied: 401 | 403 | 503;
  /** The `Retry-After` header of a 503 (default: a few seconds). */
  retryAfter?: string;
  /** The `WWW-Authenticate` header of the answer. */
  wwwAuthenticate?: string;
}

/** Why a request is not served. */
export interface Denied {
  refusal: Refusal;
  /** The `WWW-Authenticate` header of the answer. */
  wwwAuthenticate?: string | undefined;
  /** The `Retry-After` header of the answer. */
  retryAfter?: string | undefined;
}

/** What became of asking. */
export interface Permit extends Partial<Denied> {
  /** The filter that the caller is allowed, as JSON text; `undefined` for everything. */
  filter?: string;
  /** The audiences of the caller. */
  audiences?: string[] | undefined;
}

/** Whom a front asks, for at most how many milliseconds, and who is told of errors. */
export interface AuthorizeOptions<Context> {
  authorize: Authorize<Context> | undefined;
  ms: number;
  onError: (error: Error) => void;
}

/** Asks `authorize`, if there is one; its errors become a refusal. */
export async function runAuthorize<Context extends object>(
  { authorize, ms, onError }: AuthorizeOptions<Context>,
  context: Context,
): Promise<Permit> {
  const { audiences: own } = context as Pick<Partial<CallerContext>, 'audiences'>;
  if (authorize === undefined) return { audiences: own };
  try {
    const authorization = await ask(authorize, context, ms);
    if ('denied' in authorization) return denial(authorization);
    const { audiences = own } = authorization;
    return { filter: JSON.stringify({ ...authorization, audiences }), audiences };
  } catch (error) {
    onError(error as Error);
    return { refusal: Refusal.AuthorizerFailed };
  }
}

/** A denial as the refusal that answers it. */
export function denial({ denied, retryAfter, wwwAuthenticate }: Denial): Denied {
  return { refusal: REFUSALS[denied] ?? Refusal.Forbidden, wwwAuthenticate, retryAfter };
}

/**
 * Returns the denial that an answer of the user's function `name` is; undefined: it is something
 * else.
 *
 * @throws ListenError `authorizer-failed` for a `Response` that is no denial.
 */
export function denialOf(name: string, answer: object): Denial | undefined {
  if (answer instanceof Response) return denialOfResponse(name, answer);
  return 'denied' in answer ? (answer as Denial) : undefined;
}

function denialOfResponse(name: string, { body, headers, status }: Response): Denial {
  // Only its header fields count.
  void body?.cancel().catch(() => {});
  if (status !== 401 && status !== 403 && status !== 503) {
    throw new ListenError(
      'authorizer-failed',
      `${name} answered with a Response of status ${status}`,
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
 * Asks `authorize`, for at most `ms` milliseconds.
 *
 * @throws ListenError `authorizer-failed` or `authorizer-timeout`.
 */
export async function ask<Context>(
  authorize: Authorize<Context>,
  context: Context,
  ms: number,
): Promise<AllowedFilter | Denial> {
  const answer: unknown = await within(ms, 'authorize', () => authorize(context));
  if (typeof answer === 'object' && answer !== null) return denialOf('authorize', answer) ?? answer;
  throw new ListenError('authorizer-failed', 'authorize answered neither a filter nor a denial');
}

/**
 * Asks the user's function `name`, for at most `ms` milliseconds.
 *
 * @throws ListenError `authorizer-failed` or `authorizer-timeout`.
 */
export async function within<T>(
  ms: number,
  name: string,
  question: () => T | Promise<T>,
): Promise<T> {
  const late = (): Error => new ListenError('authorizer-timeout', `${name} took too long`);
  try {
    return await withTimeout(patienceOf(ms), question(), late);
  } catch (cause) {
    if (cause instanceof ListenError) throw cause;
    throw new ListenError('authorizer-failed', `${name} threw`, { cause });
  }
}

const REFUSALS: Partial<Record<number, Refusal>> = {
  401: Refusal.Unauthorized,
  503: Refusal.AuthorizerFailed,
};
