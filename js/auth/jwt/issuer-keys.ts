import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from 'jose';
import { ListenError } from '../../model/error.js';
import { blameOf } from './token-error.js';

/** The keys of an issuer, fetched from where it publishes them. */
export class IssuerKeys {
  readonly #staleMs: number;
  readonly #known: JWKSCacheInput = {};
  readonly #current: JWTVerifyGetKey;
  #failedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param jwks - the URL of the keys.
   * @param staleMs - for how long after the last fetch that succeeded open streams go on by its keys, in milliseconds.
   * @throws ListenError `invalid-options`.
   */
  constructor(jwks: string | URL, staleMs: number) {
    this.#staleMs = staleMs;
    this.#current = createRemoteJWKSet(urlOf(jwks), {
      [jwksCache]: this.#known,
      timeoutDuration: TIMEOUT_MS,
    });
  }

  /** Finds the key of a token by keys that are ten minutes old at most. */
  readonly current: JWTVerifyGetKey = (header, token) => this.#current(header, token);

  /** The same for the token of an open stream: where the keys cannot be fetched, those of the last time serve a while longer. */
  readonly lenient: JWTVerifyGetKey = async (header, token) => {
    // Many streams ask at once: they do not all wait for a host that is away.
    if (Date.now() - this.#failedAt < RETRY_MS) return this.#last()(header, token);
    try {
      return await this.#current(header, token);
    } catch (error) {
      if (blameOf(error) !== undefined) throw error;
      this.#failedAt = Date.now();
      return this.#last(error)(header, token);
    }
  };

  /** The keys that were fetched last, unless they are too old. */
  #last(cause?: unknown): JWTVerifyGetKey {
    const { jwks, uat } = this.#known as {
      jwks?: Parameters<typeof createLocalJWKSet>[0];
      uat?: number;
    };
    if (jwks !== undefined && uat !== undefined && Date.now() < uat + this.#staleMs)
      return createLocalJWKSet(jwks);
    throw new ListenError('authorizer-failed', 'the keys of the issuer cannot be fetched', {
      cause,
    });
  }
}

/** Over plain HTTP whoever is in between could say which keys are good; a loopback address has nobody in between. */
function urlOf(jwks: string | URL): URL {
  const url = URL.canParse(jwks) ? new URL(jwks) : undefined;
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url !== undefined && isSafe) return url;
  throw new ListenError(
    'invalid-options',
    'jwks must be a URL of https (of http for this machine alone), or find keys',
  );
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;
/** Shorter than what `authorize` may take by default, so that there is time left for the keys of the last time. */
const TIMEOUT_MS = 1_500;
/** As long as `jose` waits before it fetches keys again. */
const RETRY_MS = 30_000;
