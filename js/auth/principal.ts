import { ListenError } from '../model/error.js';
import { Refusal } from '../wasm/server/bindings.js';
import { bodiless } from '../web/request-body.js';
import { type Denial, type Denied, denial, within } from './authorize.js';

/**
 * Names the caller of a request, or denies it: called once for each listen request, before its body is read where the header fields call
 * it one, and for each request that has to do with a session of an earlier revision, before its body is judged; again while a stream is
 * open, by `authorizationTtlMs`. The request that it gets has no body.
 */
export type Principal = (request: Request, asked?: PrincipalContext) => PrincipalAnswer | Promise<PrincipalAnswer>;

/** On whose behalf `principal` is asked. */
export interface PrincipalContext {
  /** Whether a stream of the request is open, and its caller is named again. */
  isOpen: boolean;
}

/** The caller's name, nobody in particular, either with a moment at which that expires, or a denial. */
export type PrincipalAnswer = string | undefined | Identity | Denial;

/** A caller whose credentials expire. */
export interface Identity {
  /** The caller's name; undefined: nobody in particular. */
  name?: string | undefined;
  /** When its streams have to end, in milliseconds since 1970; who has expired is denied with 401. */
  expiresAt?: number | undefined;
  /** The audiences of the caller: it hears of what is published for these, too. */
  audiences?: string[] | undefined;
  /** Handed to `authorize` as they are, so that credentials are verified once for both; undefined: none. */
  claims?: unknown;
}

/** Who a caller is, or why it is not served. */
export interface Caller extends Partial<Denied> {
  /** As `principal` named it. */
  name?: string;
  /** When that expires. */
  expiresAt?: number;
  /** Its audiences. */
  audiences?: string[];
  /** What `principal` found out for `authorize`. */
  claims?: unknown;
}

/** Whom a front asks, for at most how many milliseconds, and who is told of errors. */
export interface PrincipalOptions {
  principal: Principal | undefined;
  ms: number;
  onError: (error: Error) => void;
}

/** Asks `principal`, if there is one; its errors become a refusal. */
export async function callerOf(
  { principal, ms, onError }: PrincipalOptions,
  request: Request,
  isOpen = false,
): Promise<Caller> {
  if (principal === undefined) return {};
  try {
    return caller(await within(ms, 'principal', () => principal(bodiless(request), { isOpen })));
  } catch (error) {
    // A client that has left is nobody's error.
    if (!request.signal.aborted) onError(error as Error);
    return { refusal: Refusal.AuthorizerFailed };
  }
}

function caller(answer: unknown): Caller {
  if (answer === undefined) return {};
  if (typeof answer === 'string') return { name: answer };
  if (isDenial(answer)) return denial(answer);
  if (isNamed(answer)) return named(answer);
  throw new ListenError('authorizer-failed', 'principal answered neither a name nor a denial');
}

function named({ audiences, claims, expiresAt, name }: Identity): Caller {
  if (expiresAt !== undefined && expiresAt <= Date.now()) return denial({ denied: 401 });
  return {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(audiences !== undefined && { audiences }),
    ...(claims !== undefined && { claims }),
  };
}

function isNamed(answer: unknown): answer is Identity {
  if (typeof answer !== 'object' || answer === null) return false;
  const { audiences, expiresAt, name } = answer as Record<keyof Identity, unknown>;
  const isTime = expiresAt === undefined || (typeof expiresAt === 'number' && !Number.isNaN(expiresAt));
  const isName = name === undefined || typeof name === 'string';
  const isList =
    audiences === undefined || (Array.isArray(audiences) && audiences.every((text) => typeof text === 'string'));
  const isOurs = ['name', 'expiresAt', 'audiences', 'claims'].some((field) => field in answer);
  return isTime && isName && isList && isOurs;
}

function isDenial(answer: unknown): answer is Denial {
  return typeof answer === 'object' && answer !== null && 'denied' in answer;
}
