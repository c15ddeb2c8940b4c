import { type Denial, type Denied, denial, within } from './authorize.js';
import { bodiless } from './body.js';
import { ListenError } from './error.js';
import { Refusal } from './wasm.js';

/**
 * Names the caller of a request, or denies it: called once for each listen request, and for each request that has to
 * do with a session of an earlier revision, before its body is understood. The request that it gets has no body.
 */
export type Principal = (request: Request) => PrincipalAnswer | Promise<PrincipalAnswer>;

/** The caller's name, nobody in particular, or a denial. */
export type PrincipalAnswer = string | undefined | Denial;

/** Who a caller is, or why it is not served. */
export interface Caller extends Partial<Denied> {
  /** As `principal` named it. */
  name?: string;
}

/** Whom a front asks, for at most how many milliseconds, and who is told of errors. */
export interface Naming {
  principal: Principal | undefined;
  ms: number;
  onerror: (error: Error) => void;
}

/** Asks `principal`, if there is one; its errors become a refusal. */
export async function callerOf({ principal, ms, onerror }: Naming, request: Request): Promise<Caller> {
  if (principal === undefined) return {};
  try {
    return caller(await within(ms, 'principal', () => principal(bodiless(request))));
  } catch (error) {
    // A client that has left is nobody's error.
    if (!request.signal.aborted) onerror(error as Error);
    return { refusal: Refusal.AuthorizerFailed };
  }
}

function caller(answer: unknown): Caller {
  if (answer === undefined) return {};
  if (typeof answer === 'string') return { name: answer };
  if (isDenial(answer)) return denial(answer);
  throw new ListenError('authorizer-failed', 'principal answered neither a name nor a denial');
}

function isDenial(answer: unknown): answer is Denial {
  return typeof answer === 'object' && answer !== null && 'denied' in answer;
}
