import { ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { safeOnError } from '../observe/on-error.js';
import { bodiless } from '../web/request-body.js';
import {
  type AuthorizeContext,
  type AuthorizeOptions,
  type CallerContext,
  runAuthorize,
} from './authorize.js';
import { checksOf, ofOpenStream } from './open-stream.js';
import { LastResult } from './outage.js';
import { type Caller, callerOf, type PrincipalOptions } from './principal.js';

/** Authorizes the caller of an open stream again. */
export interface Reauthorizer {
  /** Milliseconds for which a result is valid. */
  readonly ms: number;
  /**
   * Calls `principal` and `authorize` for a filter, given as JSON text; undefined: the caller may
   * receive nothing.
   */
  renew(requested: string): Promise<RenewedRights | undefined>;
  /** Whether the stream has to end soon, because its request may send few further requests. */
  readonly isExhausted: boolean;
  /** Called once the stream has a result; `error` is what the core found wrong in it. */
  finish(error: string | undefined): void;
}

/** The notifications that a caller may receive. */
export interface RenewedRights {
  /** A filter with the groups of the caller, as JSON text. */
  filter: string;
  /** When the caller's credentials expire, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
}

/** The functions that a stream calls again, and how often. */
export interface ReauthorizeOptions {
  principalOptions: PrincipalOptions;
  authorizeOptions: AuthorizeOptions<AuthorizeContext>;
  /** Milliseconds for which a result is valid; 0: until the stream ends. */
  ms: number;
}

/**
 * Returns what authorizes the caller of a stream again, with a copy of its request without a body,
 * and with the arguments that the host passed after it. Returns undefined if there is neither
 * `principal` nor `authorize`, or results are valid until the stream ends.
 */
export function reauthorizerOf(
  options: ReauthorizeOptions,
  caller: CallerContext,
): Reauthorizer | undefined {
  if (!isReauthorized(options)) return undefined;
  // An exception of `onError` would not be caught, and the stream would wait until its end.
  const onError = safeOnError(options.authorizeOptions.onError);
  // Claims are valid for one call only.
  const kept = { ...caller, claims: undefined, request: ofOpenStream(bodiless(caller.request)) };
  const safeOptions = { ...options, principalOptions: { ...options.principalOptions, onError } };
  const last = { caller: new LastResult(options.ms), permit: new LastResult(options.ms) };
  return {
    ms: options.ms,
    renew: (requested) =>
      renew(safeOptions, kept, last, JSON.parse(requested) as SubscriptionFilter),
    get isExhausted() {
      return checksOf(kept.request)?.isExhausted === true;
    },
    finish: (error) => {
      if (error !== undefined) onError(new ListenError('invalid-filter', error));
    },
  };
}

/** Returns whether streams keep the requests that opened them. */
export function isReauthorized({
  authorizeOptions,
  ms,
  principalOptions,
}: ReauthorizeOptions): boolean {
  return (
    ms > 0 && (authorizeOptions.authorize !== undefined || principalOptions.principal !== undefined)
  );
}

/**
 * Calls `principal` for the caller of an open stream. Returns undefined if it denies the caller, or
 * returns a different name, because another caller opened the stream.
 */
export async function sameCaller(
  options: PrincipalOptions,
  { args, principal, request }: CallerContext,
  last: LastResult,
): Promise<Caller | undefined> {
  const caller = await callerOf(options, request, args);
  if (!last.accepts(caller)) return undefined;
  if (caller.refusal !== undefined) return principal === undefined ? {} : { name: principal };
  return caller.name === principal ? caller : undefined;
}

/** The last results about the caller of an open stream. */
interface LastResults {
  /** Those of `principal`. */
  caller: LastResult;
  /** Those of `authorize`. */
  permit: LastResult;
}

/** Authorizes again. */
async function renew(
  { authorizeOptions, principalOptions }: ReauthorizeOptions,
  kept: CallerContext,
  last: LastResults,
  requested: SubscriptionFilter,
): Promise<RenewedRights | undefined> {
  const caller = await sameCaller(principalOptions, kept, last.caller);
  if (caller === undefined) return undefined;
  const { groups, claims, expiresAt } = caller;
  const context: AuthorizeContext = {
    ...kept,
    groups,
    claims,
    expiresAt,
    requested,
    isOpen: true,
  };
  const permit = await runAuthorize(
    { ...authorizeOptions, onError: principalOptions.onError },
    context,
  );
  if (!last.permit.accepts(permit)) return undefined;
  return { filter: permit.filter ?? JSON.stringify({ ...requested, groups }), expiresAt };
}
