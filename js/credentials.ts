import { ListenError } from './error.js';

/** The header fields that identify the caller of a request. */
export class Credentials {
  readonly #names: readonly string[];

  /**
   * @param further - names of header fields beside `Authorization` and `Cookie`.
   * @throws ListenError `invalid-options`.
   */
  constructor(further: readonly string[] = []) {
    const isList = Array.isArray(further) && further.every((name) => typeof name === 'string' && TOKEN.test(name));
    if (!isList) throw new ListenError('invalid-options', 'credentialHeaders must be a list of names of header fields');
    this.#names = [...new Set(['authorization', 'cookie', ...further.map((name) => name.toLowerCase())])];
  }

  /** Returns the credentials of a request, and no other header field. */
  of({ headers }: Request): Headers {
    const own = new Headers();
    for (const name of this.#names) {
      const value = headers.get(name);
      if (value !== null) own.set(name, value);
    }
    return own;
  }

  /** Returns a text that is equal for two requests to one URL with the same credentials. */
  keyOf(request: Request): string {
    return JSON.stringify([request.url, ...this.of(request)]);
  }

  /** Returns a name for the caller, a digest of its credentials; undefined without any. */
  async nameOf(request: Request): Promise<string | undefined> {
    const own = [...this.of(request)];
    return own.length === 0 ? undefined : digestOf(`caller ${JSON.stringify(own)}`);
  }

  /** Returns the key of a request as a digest of 43 characters. */
  digestOf(request: Request): Promise<string> {
    return digestOf(`request ${this.keyOf(request)}`);
  }
}

/** Returns a SHA-256 as base64url; the prefix separates it from digests made elsewhere. */
async function digestOf(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(`mcp-listen ${text}`);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}

/** The name of a header field (RFC 9110, 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
