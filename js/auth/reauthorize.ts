import { ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { guarded } from '../observe/on-error.js';
import { bodiless } from '../web/request-body.js';
import {
  type AuthorizeContext,
  type AuthorizeOptions,
  type CallerContext,
  runAuthorize,
} from './authorize.js';
import { ofOpenStream } from './open-stream.js';
import { callerOf, type PrincipalOptions } from './principal.js';

/** What a stream needs to ask again who its caller is and what it may hear. */
export interface Reauthorizer {
  /** Milliseconds for which an answer holds. */
  readonly ms: number;
  /** Asks about a filter, given as JSON text; undefined: nothing may be heard. */
  ask(requested: string): Promise<RenewedRights | undefined>;
  /** What the core found wrong with an answer. */
  refuse(wrong: string | undefined): void;
}

/** What a caller may hear. */
export interface RenewedRights {
  /** A filter with the audiences of the caller, as JSON text. */
  filter: string;
  /** When what names the caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt: number | undefined;
}

/** Whom a stream asks again. */
export interface ReauthorizeOptions {
  naming: PrincipalOptions;
  authorizing: AuthorizeOptions<AuthorizeContext>;
  /** Milliseconds for which an answer holds; 0: for as long as the stream. */
  ms: number;
}

/**
 * How a stream asks again on behalf of `asker`, with a copy of its request that has no body, and
 * with what the host passed beside it; undefined where there is no one to ask, or an answer holds
 * for as long as the stream.
 */
export function reauthorizerOf(
  granting: ReauthorizeOptions,
  asker: CallerContext,
): Reauthorizer | undefined {
  if (!isAskedAgain(granting)) return undefined;
  // Nothing would catch what it throws, and the stream would wait until its end.
  const onError = guarded(granting.authorizing.onError);
  // Claims are those of one moment.
  const kept = { ...asker, claims: undefined, request: ofOpenStream(bodiless(asker.request)) };
  const again = { ...granting, naming: { ...granting.naming, onError } };
  return {
    ms: granting.ms,
    ask: (requested) => renewed(again, kept, JSON.parse(requested) as SubscriptionFilter),
    refuse: (wrong) => {
      if (wrong !== undefined) onError(new ListenError('invalid-filter', wrong));
    },
  };
}

/** Whether streams keep the requests that opened them. */
export function isAskedAgain({ authorizing, ms, naming }: ReauthorizeOptions): boolean {
  return ms > 0 && (authorizing.authorize !== undefined || naming.principal !== undefined);
}

/** Another name than before is a denial: the stream was opened by someone else. */
async function renewed(
  { authorizing, naming }: ReauthorizeOptions,
  asker: CallerContext,
  requested: SubscriptionFilter,
): Promise<RenewedRights | undefined> {
  const { audiences, claims, expiresAt, name, refusal } = await callerOf(
    naming,
    asker.request,
    asker.args,
  );
  if (refusal !== undefined || name !== asker.principal) return undefined;
  const context: AuthorizeContext = {
    ...asker,
    audiences,
    claims,
    expiresAt,
    requested,
    isOpen: true,
  };
  const permit = await runAuthorize({ ...authorizing, onError: naming.onError }, context);
  if (permit.refusal !== undefined) return undefined;
  return { filter: permit.filter ?? JSON.stringify({ ...requested, audiences }), expiresAt };
}
