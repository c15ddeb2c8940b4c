import { ListenError } from '../model/error.js';
import { Refusal } from '../wasm/server/bindings.js';
import { bodiless } from '../web/request-body.js';
import {
  type CallerContext,
  type Denial,
  type Denied,
  denial,
  denialOf,
  within,
} from './authorize.js';
import { type AuthInfo, type Identity, identityOf, type VerifiedIdentity } from './identity.js';
import { isOpenStream, ofOpenStream } from './open-stream.js';

/**
 * Names the caller of a request, or denies it. Called once for each listen request, before its body
 * is read if the header fields call it a listen, and once for each request that has to do with a
 * session of an earlier revision, before its body is judged; called again while a stream is open,
 * as `authorizationTtlMs` says ({@link isOpenStream}). The request that it gets has no body.
 *
 * What the host passed to `fetch` after the request follows it. An open stream keeps these values,
 * and passes the same ones each time.
 *
 * @example
 * ```ts
 * const principal: Principal<[Env, ExecutionContext<{ userId: string }>]> = (_request, _env, ctx) =>
 *   ctx.props.userId;
 * ```
 */
export type Principal<Rest extends unknown[] = unknown[]> = (
  request: Request,
  ...rest: Rest
) => PrincipalAnswer | Promise<PrincipalAnswer>;

/**
 * The caller's name; undefined, for a caller without one; a name with more about it; a verified
 * token of the official SDK; or a denial. A `Response` with the status 401, 403 or 503 is a denial
 * with its `WWW-Authenticate` and `Retry-After`.
 */
export type PrincipalAnswer = string | undefined | Identity | AuthInfo | Denial | Response;

/** Who a caller is, or why it is not served. */
export interface Caller extends VerifiedIdentity, Partial<Denied> {}

/** Whom a front asks, for at most how many milliseconds, and who is told of errors. */
export interface PrincipalOptions {
  principal: Principal | undefined;
  ms: number;
  onError: (error: Error) => void;
}

/**
 * Asks `principal`, if there is one, with what the host passed beside the request; its errors
 * become a refusal.
 */
export async function callerOf(
  { principal, ms, onError }: PrincipalOptions,
  request: Request,
  rest: unknown[],
): Promise<Caller> {
  if (principal === undefined) return {};
  try {
    return await caller(await within(ms, 'principal', () => principal(shown(request), ...rest)));
  } catch (error) {
    // A client that has left is nobody's error.
    if (!request.signal.aborted) onError(error as Error);
    return { refusal: Refusal.AuthorizerFailed };
  }
}

/** Returns what `authorize` learns of the caller of a request. */
export function contextOf(
  { request, rest }: { request: Request; rest: unknown[] },
  { audiences, claims, expiresAt, name }: Caller,
): CallerContext {
  return { request, args: rest, principal: name, expiresAt, audiences, claims };
}

function shown(request: Request): Request {
  const copy = bodiless(request);
  return isOpenStream(request) ? ofOpenStream(copy) : copy;
}

async function caller(answer: unknown): Promise<Caller> {
  if (answer === undefined) return {};
  if (typeof answer === 'string') return { name: answer };
  if (typeof answer !== 'object' || answer === null) {
    throw new ListenError(
      'authorizer-failed',
      'principal answered with neither a name nor a denial',
    );
  }
  const denied = denialOf('principal', answer);
  if (denied !== undefined) return denial(denied);
  const identity = await identityOf(answer);
  const hasExpired = identity.expiresAt !== undefined && identity.expiresAt <= Date.now();
  return hasExpired ? denial({ denied: 401 }) : identity;
}
