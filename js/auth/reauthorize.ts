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
import { ofOpenStream } from './open-stream.js';
import { callerOf, type PrincipalOptions } from './principal.js';

/** Authorizes the caller of an open stream again. */
export interface Reauthorizer {
  /** Milliseconds for which a result is valid. */
  readonly ms: number;
  /**
   * Calls `principal` and `authorize` for a filter, given as JSON text; undefined: the caller may
   * receive nothing.
   */
  renew(requested: string): Promise<RenewedRights | undefined>;
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
  return {
    ms: options.ms,
    renew: (requested) => renew(safeOptions, kept, JSON.parse(requested) as SubscriptionFilter),
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

/** Authorizes again. A different name is a denial, because another caller opened the stream. */
async function renew(
  { authorizeOptions, principalOptions }: ReauthorizeOptions,
  caller: CallerContext,
  requested: SubscriptionFilter,
): Promise<RenewedRights | undefined> {
  const { groups, claims, expiresAt, name, refusal } = await callerOf(
    principalOptions,
    caller.request,
    caller.args,
  );
  if (refusal !== undefined || name !== caller.principal) return undefined;
  const context: AuthorizeContext = {
    ...caller,
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
  if (permit.refusal !== undefined) return undefined;
  return { filter: permit.filter ?? JSON.stringify({ ...requested, groups }), expiresAt };
}
