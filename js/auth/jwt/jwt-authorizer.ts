import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { ListenError } from '../../model/error.js';
import { isText } from '../../model/json.js';
import { HOUR_MS } from '../../timing/spans.js';
import type { Authorization, Authorize, AuthorizeContext, Denial } from '../authorize.js';
import { isOpenStream } from '../open-stream.js';
import type { Principal, PrincipalResult } from '../principal.js';
import { Challenge } from './challenge.js';
import { allowed, type Rights, rightsOf } from './claim-filter.js';
import { IssuerKeys } from './issuer-keys.js';
import { tokenErrorOf } from './token-error.js';

/** Which tokens are valid, and what they allow. */
export interface JwtOptions {
  /** The issuer of the tokens: their `iss`, compared as text. */
  issuer: string;
  /**
   * The audience of the tokens: their `aud`, or one of its entries, compared as text. It is the URL
   * of your endpoint, which clients name as `resource` when they ask for a token.
   */
  audience: string;
  /**
   * The URL of the issuer's keys, or a function that finds a key for `jose`, such as
   * `createLocalJWKSet(keys)`. Keys are fetched on
   * first use, and again when a token names an unknown key. The URL must be https, or http at
   * `localhost`, `127.0.0.1` or `[::1]`.
   */
  jwks: string | URL | JWTVerifyGetKey;
  /**
   * The claim that says what the caller may receive.
   *
   * @default 'mcp.listen'
   */
  claim?: string;
  /**
   * Returns the caller's groups from the claims of a valid token. `principal` and `authorize` each
   * call it, also with a token without the claim: return `[]` where a token names no groups.
   *
   * @default `groups` within the claim
   */
  groups?: (claims: JWTPayload) => string[];
  /**
   * The server's identifier; callers without a valid token are referred to its metadata.
   * Needed if `audience` is not a URL.
   *
   * @default `audience`
   */
  resource?: string;
  /**
   * The scopes that a denied caller should request from its authorization server. Tokens need not
   * have them.
   *
   * @default none are named
   */
  scopes?: readonly string[];
  /**
   * The type that the header of a token must have (`typ`). Use `at+jwt` if the authorization server
   * issues access tokens according to RFC 9068, so that no other kind of token is accepted.
   *
   * @default any type
   */
  typ?: string;
  /**
   * Milliseconds after the last fetch of the keys for which these still verify the tokens of open
   * streams when the keys cannot be fetched again. Values below 600,000, also 0, have no effect,
   * because keys count as current for that long. New requests get 503 meanwhile.
   *
   * @default 3_600_000
   */
  staleKeysMs?: number;
  /**
   * Milliseconds by which the clocks of issuer and server may differ. A token is valid for this
   * much longer. 0 allows no difference.
   *
   * @default 0
   */
  clockToleranceMs?: number;
}

/** Options to spread into those of `createListenHandler`. */
export interface JwtAuthorization {
  /** Names the caller by the `sub` of its token, and returns its groups, or denies it. */
  principal: Principal;
  /** Returns what the claim of the token allows. It does not decide about MCP Events. */
  authorize: Authorize;
}

/**
 * Verifies bearer tokens. The `sub` of a token names its caller until the token expires. A claim of
 * the token says what the caller may receive: a filter as in a listen request, whose URIs and task
 * ids may end with `*` to match a prefix, and the caller's groups. A token is verified once for
 * each listen, and again each time an open stream is authorized again.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const audience = 'https://mcp.example/mcp';
 * const { authorize, principal } = jwtAuthorizer({ issuer, audience, jwks });
 * const server = createListenHandler(handler, { authorize, principal });
 * ```
 */
export function jwtAuthorizer(options: JwtOptions): JwtAuthorization {
  const authorizer = new Authorizer(options);
  return {
    principal: (request) => authorizer.principal(request),
    authorize: (context) => authorizer.authorize(context),
  };
}

/** A valid token. */
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
  readonly #keys: { current: JWTVerifyGetKey; lenient: JWTVerifyGetKey };
  readonly #challenge: Challenge;
  /** Claims of tokens that this object has verified. */
  readonly #verifiedClaims = new WeakSet<object>();

  constructor(options: JwtOptions) {
    const {
      audience,
      clockToleranceMs = 0,
      issuer,
      jwks,
      resource = audience,
      scopes = [],
      staleKeysMs = HOUR_MS,
      typ,
    } = options;
    // jose does not check a claim whose option is missing.
    if (!isText(issuer) || !isText(audience)) {
      throw new ListenError('invalid-options', 'issuer and audience must be non-empty strings');
    }
    if (typ !== undefined && !isText(typ))
      throw new ListenError('invalid-options', 'typ must be a non-empty string');
    if (!(clockToleranceMs >= 0))
      throw new ListenError('invalid-options', 'clockToleranceMs must be a number of at least 0');
    this.#options = { ...options };
    this.#toleranceMs = clockToleranceMs;
    this.#keys =
      typeof jwks === 'function'
        ? { current: jwks, lenient: jwks }
        : new IssuerKeys(jwks, staleKeysMs);
    this.#challenge = new Challenge(resource, scopes);
  }

  async principal(request: Request): Promise<PrincipalResult> {
    const token = await this.#token(request, isOpenStream(request));
    if ('denied' in token) return token;
    const { claims } = token;
    const groups = this.#groupsIn(claims);
    return {
      name: claims.sub,
      expiresAt: claims.exp * 1_000 + this.#toleranceMs,
      claims,
      ...(groups !== undefined && { groups }),
    };
  }

  async authorize({
    claims: passed,
    isOpen,
    request,
    requested,
  }: AuthorizeContext): Promise<Authorization> {
    const token = this.#isValid(passed)
      ? { claims: passed }
      : await this.#token(request, isOpen ?? false);
    if ('denied' in token) return token;
    const rights = this.#rightsIn(token.claims);
    if (rights === undefined)
      return this.#challenge.insufficient('The token does not state what its caller may receive');
    const groups = this.#groupsIn(token.claims);
    return { ...allowed(rights, requested), ...(groups !== undefined && { groups }) };
  }

  #rightsIn(claims: Claims): Rights | undefined {
    const { claim = 'mcp.listen' } = this.#options;
    return rightsOf(claims[claim]);
  }

  #groupsIn(claims: Claims): string[] | undefined {
    const { groups } = this.#options;
    return groups === undefined ? this.#rightsIn(claims)?.groups : groups(claims);
  }

  /** Returns whether `principal` has verified these claims, and they have not expired since. */
  #isValid(claims: unknown): claims is Claims {
    const isVerified =
      typeof claims === 'object' && claims !== null && this.#verifiedClaims.has(claims);
    return isVerified && Date.now() < (claims as Claims).exp * 1_000 + this.#toleranceMs;
  }

  async #token(request: Request, isOpen: boolean): Promise<Token | Denial> {
    const text = BEARER.exec(request.headers.get('authorization') ?? '')?.[1];
    if (text === undefined) return this.#challenge.missing();
    try {
      return { claims: await this.#verified(text, isOpen) };
    } catch (error) {
      const description = tokenErrorOf(error);
      if (description !== undefined) return this.#challenge.invalid(description);
      throw error;
    }
  }

  async #verified(token: string, isOpen: boolean): Promise<Claims> {
    const { audience, issuer, typ } = this.#options;
    const { payload } = await jwtVerify(token, isOpen ? this.#keys.lenient : this.#keys.current, {
      ...(typ !== undefined && { typ }),
      algorithms: ALGORITHMS,
      audience,
      clockTolerance: this.#toleranceMs / 1_000,
      issuer,
      requiredClaims: ['exp', 'sub'],
    });
    if (!isText(payload.sub))
      throw new errors.JWTClaimValidationFailed(
        '"sub" is not a non-empty string',
        payload,
        'sub',
        'invalid',
      );
    this.#verifiedClaims.add(payload);
    return payload as Claims;
  }
}

const BEARER = /^Bearer +(.+)$/i;
/**
 * Only signatures with a private key: with a shared secret, anyone who verifies tokens could issue
 * them.
 */
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
