import type { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client';

/** How requests to an endpoint are authorized. */
export interface Access {
  /** Authorizes the requests of the official client; undefined: they have no token. */
  readonly provider?: AuthProvider | OAuthClientProvider;
  /** The token of subscriptions. */
  readonly token?: string | (() => Promise<string>);
  /** Sends the requests of subscriptions, with their tokens; undefined: `fetch`. */
  readonly fetch?: typeof fetch;
  /** Returns the token in place of one that was refused; an empty string if there is none. */
  readonly renewed?: (refused: string) => Promise<string>;
  /** From now on, sends the user to no authorization server. */
  readonly stay?: () => void;
}

/** Returns the access with a bearer token that the user has entered; an empty one is none. */
export function bearerAccess(token: string): Access {
  return token === '' ? {} : { provider: { token: async () => token }, token };
}

/** Returns the options of a subscription that has this access. */
export function authorization({ fetch, token }: Access): Pick<Access, 'fetch' | 'token'> {
  return { ...(fetch && { fetch }), ...(token && { token }) };
}

/** Returns the bearer token of a request; an empty string if there is none. */
export function tokenIn(headers: HeadersInit | undefined): string {
  return new Headers(headers).get('Authorization')?.replace(/^Bearer /, '') ?? '';
}

/** Returns the header field for a token; none for an empty token. */
export function bearer(token: string): Record<string, string> {
  return token === '' ? {} : { Authorization: `Bearer ${token}` };
}
