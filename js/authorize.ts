import { deferred } from './deferred.js';
import { ListenError } from './error.js';
import type { SubscriptionFilter } from './filter.js';

/**
 * Says what of a request a caller may hear. Called for each listen request, and in sessions of earlier revisions
 * for each `resources/subscribe` and each GET of a stream, before anything is registered.
 */
export type Authorize = (context: AuthorizeContext) => Authorization | Promise<Authorization>;

/** Who asks for what. */
export interface AuthorizeContext {
  /** The request; its body has been read. */
  request: Request;
  /** What it asks for. */
  requested: SubscriptionFilter;
}

/** What the caller may hear: only what is both requested and named here is honored. Or a denial. */
export type Authorization = SubscriptionFilter | Denial;

/** A caller who may not listen at all. */
export interface Denial {
  /** 401: say who you are. 403: not you. */
  denied: 401 | 403;
  /** The `WWW-Authenticate` header of the answer. */
  wwwAuthenticate?: string;
}

/**
 * Asks `authorize`, for at most `ms` milliseconds.
 *
 * @throws ListenError `authorizer-failed` or `authorizer-timeout`.
 */
export async function ask(authorize: Authorize, context: AuthorizeContext, ms: number): Promise<Authorization> {
  const late = deferred<never>();
  const timer = setTimeout(() => {
    late.reject(new ListenError('authorizer-timeout', 'authorize took too long'));
  }, ms);
  try {
    const authorization: unknown = await Promise.race([authorize(context), late.promise]);
    if (typeof authorization === 'object' && authorization !== null) return authorization;
    throw new ListenError('authorizer-failed', 'authorize answered neither a filter nor a denial');
  } catch (cause) {
    if (cause instanceof ListenError) throw cause;
    throw new ListenError('authorizer-failed', 'authorize threw', { cause });
  } finally {
    clearTimeout(timer);
  }
}
