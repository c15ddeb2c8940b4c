import { ListenError } from '../model/error.js';
import { Refusal } from '../wasm/server/bindings.js';
import { bodiless } from '../web/request-body.js';
import {
  type CallerContext,
  callUserFunction,
  type Denial,
  type Denied,
  denial,
  denialOf,
} from './authorize.js';
import { type AuthInfo, type Identity, identityOf, type VerifiedIdentity } from './identity.js';
import { checksOf, ofOpenStream } from './open-stream.js';
import { outageMsOf } from './outage.js';
import { isServedHere, servedHere } from './served-here.js';

/**
 * Names the caller of a request, or denies it. It is called once for each listen request, before
 * the body is read if the header fields say that it is a listen. It is called once for each request
 * that concerns a session of an earlier revision, before its body is checked. While a stream is
 * open, it is called again after `authorizationTtlMs` ({@link isOpenStream}). The request that it
 * receives has no body.
 *
 * Its further arguments are those that the host passed to `fetch` after the request. An open stream
 * keeps these values, and passes the same ones each time.
 *
 * @example
 * ```ts
 * type Rest = [Env, ExecutionContext<{ userId: string }>];
 * const principal: Principal<Rest> = (_request, _env, ctx) => ctx.props.userId;
 * ```
 */
export type Principal<Rest extends unknown[] = unknown[]> = (
  request: Request,
  ...rest: Rest
) => PrincipalResult | Promise<PrincipalResult>;

/**
 * The caller's name; undefined for a caller without one; an identity; a verified token of the
 * official SDK; or a denial. A `Response` with the status 401, 403 or 503 is a denial with its
 * `WWW-Authenticate` and `Retry-After`.
 */
export type PrincipalResult = string | undefined | Identity | AuthInfo | Denial | Response;

/** The identity of a caller, or the reason for refusing it. */
export interface Caller extends VerifiedIdentity, Partial<Denied> {}

/** The function to call, its timeout in milliseconds, and the handler of its errors. */
export interface PrincipalOptions {
  principal: Principal | undefined;
  ms: number;
  onError: (error: Error) => void;
}

/**
 * Calls `principal`, if there is one, with the arguments that the host passed after the request.
 * Its errors become a refusal.
 */
export async function callerOf(
  { principal, ms, onError }: PrincipalOptions,
  request: Request,
  rest: unknown[],
): Promise<Caller> {
  if (principal === undefined) return {};
  try {
    return await callerIn(
      await callUserFunction(ms, 'principal', () => principal(withoutBody(request), ...rest)),
    );
  } catch (error) {
    // A client that has disconnected is not an error.
    if (!request.signal.aborted) onError(error as Error);
    return { refusal: Refusal.AuthorizerFailed, outageMs: outageMsOf(principal, error) };
  }
}

/** Returns the context that `authorize` receives about the caller of a request. */
export function contextOf(
  { request, rest }: { request: Request; rest: unknown[] },
  { groups, claims, expiresAt, name }: Caller,
): CallerContext {
  return { request, args: rest, principal: name, expiresAt, groups, claims };
}

function withoutBody(request: Request): Request {
  const copy = bodiless(request);
  const checks = checksOf(request);
  if (checks !== undefined) ofOpenStream(copy, checks);
  if (isServedHere(request)) servedHere(copy);
  return copy;
}

async function callerIn(result: unknown): Promise<Caller> {
  if (result === undefined) return {};
  if (typeof result === 'string') return { name: result };
  if (typeof result !== 'object' || result === null) {
    throw new ListenError('authorizer-failed', 'principal returned neither a name nor a denial');
  }
  const denied = denialOf('principal', result);
  if (denied !== undefined) return denial(denied);
  const identity = await identityOf(result);
  const hasExpired = identity.expiresAt !== undefined && identity.expiresAt <= Date.now();
  return hasExpired ? denial({ denied: 401 }) : identity;
}
