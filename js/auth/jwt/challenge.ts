import { ListenError } from '../../model/error.js';
import type { Denial } from '../authorize.js';
import { metadataUrl } from './protected-resource.js';

/** Tells whoever is denied where to get a token, and what was wrong with the one that was sent (RFC 6750, RFC 9728). */
export class Challenge {
  readonly #fields: string[];

  /** @throws ListenError `invalid-options`. */
  constructor(resource: string, scopes: readonly string[]) {
    if (!scopes.every((scope) => SCOPE.test(scope))) {
      throw new ListenError('invalid-options', 'scopes must be a list of scopes');
    }
    this.#fields = [`resource_metadata="${metadataUrl(resource)}"`];
    if (scopes.length > 0) this.#fields.push(`scope="${scopes.join(' ')}"`);
  }

  /** There was no token: nothing is said about errors (RFC 6750, Section 3.1). */
  missing(): Denial {
    return this.#denial(401);
  }

  /** The token is not a good one. */
  invalid(why: string): Denial {
    return this.#denial(401, 'error="invalid_token"', `error_description="${why}"`);
  }

  /** The token is a good one, but not for this. */
  insufficient(why: string): Denial {
    return this.#denial(403, 'error="insufficient_scope"', `error_description="${why}"`);
  }

  #denial(denied: 401 | 403, ...errors: string[]): Denial {
    return { denied, wwwAuthenticate: `Bearer ${[...errors, ...this.#fields].join(', ')}` };
  }
}

/** A scope as RFC 6750 has it, Section 3. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
