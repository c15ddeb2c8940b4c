import { ListenError } from '../model/error.js';
import { sha256 } from './digest.js';

/** The header fields that identify the caller of a request. */
export class Credentials {
  readonly #names: readonly string[];
  /** The fields that identify the caller. */
  readonly #identifying: readonly string[];

  /**
   * @param further - names of header fields in addition to `Authorization` and `Cookie`. If
   *   `Cookie` is among them, cookies are part of a caller's name.
   * @throws ListenError `invalid-options`.
   */
  constructor(further: readonly string[] = []) {
    const isList =
      Array.isArray(further) &&
      further.every((name) => typeof name === 'string' && TOKEN.test(name));
    if (!isList)
      throw new ListenError(
        'invalid-options',
        'credentialHeaders must be a list of header field names',
      );
    this.#identifying = [
      ...new Set(['authorization', ...further.map((name) => name.toLowerCase())]),
    ];
    this.#names = [...new Set([...this.#identifying, 'cookie'])];
  }

  /** Returns the credentials of a request, and no other header field. */
  of({ headers }: Request): Headers {
    return only(this.#names, headers);
  }

  /** Returns a text that is equal for two requests to the same URL with the same credentials. */
  keyOf(request: Request): string {
    return JSON.stringify([request.url, ...this.of(request)]);
  }

  /**
   * Returns a name for the caller, a digest of its credentials; undefined without credentials. Load
   * balancers set cookies and clients choose them, so they count only if the constructor names
   * `Cookie`.
   */
  async nameOf({ headers }: Request): Promise<string | undefined> {
    const own = only(this.#identifying, headers);
    const authorization = own.get('authorization');
    if (authorization !== null) own.set('authorization', withPlainScheme(authorization));
    const fields = [...own];
    return fields.length === 0 ? undefined : digestOf(`caller ${JSON.stringify(fields)}`);
  }

  /** Returns the key of a request as a digest of 43 characters. */
  digestOf(request: Request): Promise<string> {
    return digestOf(`request ${this.keyOf(request)}`);
  }
}

/** Returns the header fields with these names. */
function only(names: readonly string[], headers: Headers): Headers {
  const own = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) own.set(name, value);
  }
  return own;
}

/** Returns credentials with their scheme in lower case, followed by one space. */
function withPlainScheme(authorization: string): string {
  const text = authorization.trim();
  const end = text.search(/\s/);
  return end < 0 ? text : `${text.slice(0, end).toLowerCase()} ${text.slice(end).trim()}`;
}

/** Returns a SHA-256 as base64url; the prefix separates it from other digests. */
async function digestOf(text: string): Promise<string> {
  const digest = await sha256(`mcp-listen ${text}`);
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}

/** The syntax of the name of a header field (RFC 9110, 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
