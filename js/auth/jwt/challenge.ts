import { ListenError } from '../../model/error.js';
import type { Denial } from '../authorize.js';
import { metadataUrl } from './protected-resource.js';

/**
 * Denials that name where to get a token, and why its token was rejected (RFC 6750, RFC
 * 9728).
 */
export class Challenge {
  readonly #fields: string[];

  /** @throws ListenError `invalid-options`. */
  constructor(resource: string, scopes: readonly string[]) {
    if (!scopes.every((scope) => SCOPE.test(scope))) {
      throw new ListenError('invalid-options', 'scopes must be a list of OAuth scopes');
    }
    this.#fields = [`resource_metadata="${metadataUrl(resource)}"`];
    if (scopes.length > 0) this.#fields.push(`scope="${scopes.join(' ')}"`);
  }

  /** Denies a request without a token; such a challenge has no error (RFC 6750, Section 3.1). */
  missing(): Denial {
    return this.#denial(401);
  }

  /** Denies an invalid token. */
  invalid(why: string): Denial {
    return this.#denial(401, 'error="invalid_token"', `error_description="${why}"`);
  }

  /** Denies a valid token that lacks the rights. */
  insufficient(why: string): Denial {
    return this.#denial(403, 'error="insufficient_scope"', `error_description="${why}"`);
  }

  #denial(denied: 401 | 403, ...errors: string[]): Denial {
    return { denied, wwwAuthenticate: `Bearer ${[...errors, ...this.#fields].join(', ')}` };
  }
}

/** The syntax of a scope (RFC 6750, Section 3). */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
