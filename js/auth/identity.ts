import { ListenError } from '../model/error.js';
import { isListOfStrings, isText } from '../model/json.js';
import { sha256 } from '../web/digest.js';
import { hex } from '../web/hex.js';

/** A caller with credentials that expire, or with groups. */
export interface Identity {
  /**
   * The caller's name.
   *
   * @default the caller has none
   */
  name?: string | undefined;
  /**
   * When the streams of the caller end: a `Date`, or milliseconds since 1970. A caller that has
   * expired is denied with 401. A time before 2001 is an error, because it is probably in seconds.
   *
   * @default never
   */
  expiresAt?: Date | number | undefined;
  /**
   * The groups of the caller, which also receives events published for them.
   *
   * @default []
   */
  groups?: string[] | undefined;
  /**
   * Passed to `authorize` unchanged, so that credentials are verified once.
   *
   * @default undefined
   */
  claims?: unknown;
}

/**
 * A verified token, as in the official SDK. `expiresAt` is in seconds since 1970 here; a token
 * without it never expires.
 *
 * The caller's name is `extra.sub`, or else `extra.userId`, if that is a string that is not empty.
 * Without either, the name is the SHA-256 of the token, as 64 hexadecimal digits.
 */
export interface AuthInfo {
  /** The access token. */
  token: string;
  /** The id of the client that the token was issued to. It never names a caller. */
  clientId: string;
  /** The scopes of the token. */
  scopes: string[];
  /** When the token expires, in seconds since 1970. */
  expiresAt?: number;
  /** The resource that the token was issued for (RFC 8707). */
  resource?: URL;
  /** What else the verifier knows about the token. */
  extra?: Record<string, unknown>;
}

/** An identity after validation. */
export interface VerifiedIdentity {
  name?: string;
  /** Milliseconds since 1970. */
  expiresAt?: number;
  groups?: string[];
  claims?: unknown;
}

/**
 * Returns the identity in a result of `principal`.
 *
 * @throws ListenError `authorizer-failed`.
 */
export async function identityOf(value: object): Promise<VerifiedIdentity> {
  return 'token' in value ? ofAuthInfo(value) : ofIdentity(value);
}

function ofIdentity(value: object): VerifiedIdentity {
  const { groups, claims, expiresAt, name } = value as Record<keyof Identity, unknown>;
  if (!FIELDS.some((field) => field in value) && !('expiresAt' in value)) {
    throw invalidResult('neither a name nor a denial');
  }
  if (name !== undefined && typeof name !== 'string')
    throw invalidResult('a name that is not a string');
  if (groups !== undefined && !isListOfStrings(groups)) {
    throw invalidResult('groups that are not a list of strings');
  }
  return verified(name, expiryOf(expiresAt), groups, claims);
}

async function ofAuthInfo(value: object): Promise<VerifiedIdentity> {
  const { expiresAt, extra, token } = value as Partial<AuthInfo>;
  if (FIELDS.some((field) => field in value)) {
    throw invalidResult(`an AuthInfo with a field of an Identity: ${FIELDS.join(', ')}`);
  }
  if (!isText(token)) throw invalidResult('an AuthInfo whose token is not a non-empty string');
  const expiresAtMs = expiresAt === undefined ? undefined : numberOf(expiresAt) * 1_000;
  const name = [extra?.['sub'], extra?.['userId']].find(isText) ?? hex(await sha256(token));
  return verified(name, expiresAtMs, undefined, value);
}

function verified(
  name: string | undefined,
  expiresAt: number | undefined,
  groups: string[] | undefined,
  claims: unknown,
): VerifiedIdentity {
  return {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(groups !== undefined && { groups }),
    ...(claims !== undefined && { claims }),
  };
}

/**
 * Returns milliseconds since 1970. A value in seconds would end every stream at once, so it is
 * rejected.
 */
function expiryOf(expiresAt: unknown): number | undefined {
  if (expiresAt === undefined) return undefined;
  const expiry = numberOf(expiresAt instanceof Date ? expiresAt.getTime() : expiresAt);
  if (expiry >= EARLIEST_MS) return expiry;
  throw invalidResult(
    'an expiresAt before 2001: it is a Date or milliseconds since 1970, not seconds',
  );
}

function numberOf(expiresAt: unknown): number {
  if (typeof expiresAt === 'number' && !Number.isNaN(expiresAt)) return expiresAt;
  throw invalidResult('an expiresAt that is not a time');
}

function invalidResult(what: string): ListenError {
  return new ListenError('authorizer-failed', `principal returned ${what}`);
}

/** The fields of an {@link Identity} that no {@link AuthInfo} has. */
const FIELDS = ['name', 'groups', 'claims'];
/**
 * The start of 2001 in milliseconds since 1970. As seconds, the same number is 31,000 years away.
 */
const EARLIEST_MS = Date.UTC(2001);
