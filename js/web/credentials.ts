import { ListenError } from '../model/error.js';
import { sha256 } from './digest.js';

/** One credential of a request: a header field, or one of the cookies or words in it. */
export interface Credential {
  /** The name of the header field, in lower case. */
  readonly field: string;
  readonly text: string;
}

/** The header fields that identify the caller of a request. */
export class Credentials {
  readonly #names: readonly string[];
  /** The fields that may be part of a caller's name. */
  readonly #naming: ReadonlySet<string>;

  /**
   * @param further - names of header fields in addition to `Authorization` and `Cookie`. If
   *   `Cookie` is among them, cookies may be part of a caller's name.
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
    const named = further.map((name) => name.toLowerCase());
    this.#naming = new Set(['authorization', ...named]);
    const own = named.filter((name) => name !== 'cookie');
    this.#names = [...new Set([...own, 'authorization', 'cookie'])];
  }

  /** Returns the credentials of a request, and no other header field. */
  of(request: Request): Headers {
    const own = new Headers();
    for (const field of this.#names) {
      const value = request.headers.get(field);
      if (value !== null) own.set(field, value);
    }
    return own;
  }

  /** Returns a text that is equal for two requests to the same URL with the same credentials. */
  keyOf(request: Request): string {
    return JSON.stringify([request.url, ...this.of(request)]);
  }

  /**
   * Returns the credentials of a request one by one. Tokens change, and cookies change most often,
   * so the fields of the constructor come first, and cookies last.
   */
  listOf({ headers }: Request): Credential[] {
    return this.#names.flatMap((field) => {
      const text = headers.get(field);
      if (text === null) return [];
      return this.#partsOf(field, text).map((each) => ({ field, text: each }));
    });
  }

  /**
   * Returns a name for the caller with these credentials, a digest; undefined if none of them names
   * a caller. Load balancers set cookies and clients choose them, so they count only if the
   * constructor names `Cookie`.
   */
  async nameOf(credentials: readonly Credential[]): Promise<string | undefined> {
    const texts = credentials
      .filter(({ field }) => this.#naming.has(field))
      .map(({ field, text }) => JSON.stringify([field, normalized(field, text)]))
      .sort();
    return texts.length === 0 ? undefined : digestOf(`caller [${texts.join()}]`);
  }

  #partsOf(field: string, text: string): string[] {
    if (field === 'authorization') return wordsIn(text);
    return field === 'cookie' && this.#naming.has(field) ? cookiesIn(text) : [text];
  }

  /** Returns the key of a request as a digest of 43 characters. */
  digestOf(request: Request): Promise<string> {
    return digestOf(`request ${this.keyOf(request)}`);
  }
}

/** Returns header fields with these credentials. */
export function fieldsOf(credentials: readonly Credential[]): Headers {
  const fields = new Headers();
  for (const { field, text } of credentials) {
    const others = fields.get(field);
    const separator = field === 'cookie' ? '; ' : ' ';
    fields.set(field, others === null ? text : others + separator + text);
  }
  return fields;
}

/** Returns a bearer token, and each word after it, which some servers do not read. */
function wordsIn(authorization: string): string[] {
  const [, token, more] = /^(bearer\s+\S+)\s+(\S.*)$/i.exec(authorization) ?? [];
  return token === undefined || more === undefined
    ? [authorization]
    : [token, ...more.split(/\s+/)];
}

function cookiesIn(text: string): string[] {
  return text
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie !== '');
}

/** Returns the same text for different spellings of a credential. */
function normalized(field: string, text: string): string {
  if (field === 'authorization') return withPlainScheme(text);
  return field === 'cookie' ? withPlainValue(text) : text;
}

/** Returns a cookie without quotes and percent-encoding, which servers remove. */
function withPlainValue(cookie: string): string {
  const plain = cookie.replace(/^([^=\s]*)\s*=\s*("?)(.*)\2$/, '$1=$3');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
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
