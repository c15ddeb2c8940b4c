import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Authorization, Authorize, Denial } from '../authorize.js';
import { ListenError } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import type { Principal, PrincipalAnswer } from '../principal.js';
import { Challenge } from './challenge.js';
import { allowed, rightsOf } from './rights.js';
import { blameOf } from './token-error.js';

/** Whose tokens are good, and for what. */
export interface JwtOptions {
  /** Who has to have issued a token: its `iss`, compared as text. */
  issuer: string;
  /** For whom it has to be: its `aud`, or one of them, compared as text. */
  audience: string;
  /** The URL of the issuer's keys, fetched when they are needed and again when a token names an unknown one; or what finds a key for `jose`. */
  jwks: string | URL | JWTVerifyGetKey;
  /** The claim that says what its caller may hear (default `mcp.listen`). */
  claim?: string;
  /** The audiences that the caller hears of, by the claims of its token, which is a good one (default: `audiences` within that claim). */
  audiences?: (claims: JWTPayload) => string[];
  /** The server's identifier, whose metadata callers without a good token are sent to (default: `audience`). */
  resource?: string;
  /** What a caller has to ask its authorization server for; told to those that are denied (default: nothing is told). */
  scopes?: readonly string[];
  /** Milliseconds by which the clocks of issuer and server may differ (default 0). */
  clockToleranceMs?: number;
}

/** Options of `serveListen`: spread it among the others. */
export interface JwtAuthorization {
  principal: Principal;
  authorize: Authorize;
}

/**
 * Names callers by the `sub` of their bearer tokens, for as long as these are good, and lets them hear what a claim of theirs says: a filter as
 * in a listen request, whose URIs and task ids may end with `*` for all that begin so, and its audiences. A token is checked again each time `authorize` is asked.
 *
 * @throws ListenError `invalid-options`.
 */
export function jwtAuthorizer(options: JwtOptions): JwtAuthorization {
  const authorizer = new Authorizer(options);
  return {
    principal: (request) => authorizer.principal(request),
    authorize: ({ request, requested }) => authorizer.authorize(request, requested),
  };
}

/** A token that is good. */
interface Token {
  claims: Claims;
}

interface Claims extends JWTPayload {
  sub: string;
  exp: number;
}

class Authorizer {
  readonly #options: JwtOptions;
  readonly #toleranceMs: number;
  readonly #keys: JWTVerifyGetKey;
  readonly #challenge: Challenge;

  constructor(options: JwtOptions) {
    const { audience, clockToleranceMs = 0, issuer, jwks, resource = audience, scopes = [] } = options;
    // Without one of them jose would not look at the claim.
    if (!isName(issuer) || !isName(audience)) {
      throw new ListenError('invalid-options', 'issuer and audience must be texts that are not empty');
    }
    if (!(clockToleranceMs >= 0)) throw new ListenError('invalid-options', 'clockToleranceMs must not be below 0');
    this.#options = { ...options };
    this.#toleranceMs = clockToleranceMs;
    this.#keys = typeof jwks === 'function' ? jwks : createRemoteJWKSet(urlOf(jwks));
    this.#challenge = new Challenge(resource, scopes);
  }

  async principal(request: Request): Promise<PrincipalAnswer> {
    const token = await this.#token(request);
    if ('denied' in token) return token;
    const { exp, sub } = token.claims;
    return { name: sub, expiresAt: exp * 1_000 + this.#toleranceMs };
  }

  async authorize(request: Request, requested: SubscriptionFilter): Promise<Authorization> {
    const token = await this.#token(request);
    if ('denied' in token) return token;
    const { claim = 'mcp.listen', audiences: audiencesOf } = this.#options;
    const rights = rightsOf(token.claims[claim]);
    if (rights === undefined) return this.#challenge.insufficient('The token does not say what its caller may hear');
    const audiences = audiencesOf === undefined ? rights.audiences : audiencesOf(token.claims);
    return { ...allowed(rights, requested), ...(audiences !== undefined && { audiences }) };
  }

  async #token(request: Request): Promise<Token | Denial> {
    const text = BEARER.exec(request.headers.get('authorization') ?? '')?.[1];
    if (text === undefined) return this.#challenge.missing();
    try {
      return { claims: await this.#verified(text) };
    } catch (error) {
      const blame = blameOf(error);
      if (blame !== undefined) return this.#challenge.invalid(blame);
      throw error;
    }
  }

  async #verified(token: string): Promise<Claims> {
    const { audience, issuer } = this.#options;
    const { payload } = await jwtVerify(token, this.#keys, {
      algorithms: ALGORITHMS,
      audience,
      clockTolerance: this.#toleranceMs / 1_000,
      issuer,
      requiredClaims: ['exp', 'sub'],
    });
    if (!isName(payload.sub)) throw new errors.JWTClaimValidationFailed('"sub" is no name', payload, 'sub', 'invalid');
    return payload as Claims;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function urlOf(jwks: string | URL): URL {
  if (URL.canParse(jwks)) return new URL(jwks);
  throw new ListenError('invalid-options', 'jwks must be a URL, or find keys');
}

const BEARER = /^Bearer +(.+)$/i;
/** Signatures that only the issuer can make: with a shared secret, whoever checks tokens could issue them. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
