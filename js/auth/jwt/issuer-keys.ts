import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from 'jose';
import { ListenError } from '../../model/error.js';
import { withTimeout } from '../../timing/with-timeout.js';
import { tokenErrorOf } from './token-error.js';

/** The keys of an issuer, fetched from the URL at which it publishes them. */
export class IssuerKeys {
  readonly #staleMs: number;
  readonly #known: JWKSCacheInput = {};
  readonly #current: JWTVerifyGetKey;
  /** The keys of {@link IssuerKeys.lenient}, imported. */
  #imported: { jwks: JSONWebKeySet; find: JWTVerifyGetKey } | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param jwks - the URL of the keys.
   * @param staleMs - milliseconds after the last successful fetch for which its keys verify the
   *   tokens of open streams.
   * @throws ListenError `invalid-options`.
   */
  constructor(jwks: string | URL, staleMs: number) {
    this.#staleMs = staleMs;
    this.#current = createRemoteJWKSet(urlOf(jwks), {
      [jwksCache]: this.#known,
      timeoutDuration: TIMEOUT_MS,
    });
  }

  /** Finds the key of a token among keys that are at most ten minutes old. */
  readonly current: JWTVerifyGetKey = (header, token) => this.#current(header, token);

  /**
   * Finds the key of an open stream's token. If the keys cannot be fetched, or are not there soon,
   * it uses those of the last fetch for `staleMs`.
   */
  readonly lenient: JWTVerifyGetKey = async (header, token) => {
    // Many streams call at the same time: do not make all of them wait for a host that is down.
    if (Date.now() - this.#failedAt < RETRY_MS) return this.#last()(header, token);
    try {
      const current = this.#current(header, token);
      return await (this.#lastKeys === undefined
        ? current
        : withTimeout(PATIENCE_MS, current, late));
    } catch (error) {
      if (tokenErrorOf(error) !== undefined) throw error;
      this.#failedAt = Date.now();
      return this.#last(error)(header, token);
    }
  };

  /** The keys that were fetched last, unless they are too old. */
  get #lastKeys(): JSONWebKeySet | undefined {
    const { jwks, uat } = this.#known as { jwks?: JSONWebKeySet; uat?: number };
    return uat !== undefined && Date.now() < uat + this.#staleMs ? jwks : undefined;
  }

  /** Finds keys among those that were fetched last. */
  #last(cause?: unknown): JWTVerifyGetKey {
    const jwks = this.#lastKeys;
    if (jwks !== undefined) {
      // It imports each key once.
      if (this.#imported?.jwks !== jwks) this.#imported = { jwks, find: createLocalJWKSet(jwks) };
      return this.#imported.find;
    }
    throw new ListenError('authorizer-failed', 'the keys of the issuer cannot be fetched', {
      cause,
    });
  }
}

function late(): Error {
  return new Error('the keys have not arrived in time');
}

/**
 * Over plain HTTP an attacker on the network could replace the keys; a loopback address is safe.
 */
function urlOf(jwks: string | URL): URL {
  const url = URL.canParse(jwks) ? new URL(jwks) : undefined;
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url !== undefined && isSafe) return url;
  throw new ListenError(
    'invalid-options',
    'jwks must be an https URL (or http at a loopback address), or a function that finds keys',
  );
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;
/** Milliseconds. Shorter than the default timeout of `authorize`: its error would not say why. */
const TIMEOUT_MS = 1_500;
/** Milliseconds for which an open stream waits for the keys while the last ones count. */
const PATIENCE_MS = 500;
/** Milliseconds. As long as `jose` waits before it fetches keys again. */
const RETRY_MS = 30_000;
